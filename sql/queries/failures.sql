-- question: Which activations failed, and what did their programs say?
-- parameter: run = the run's number
-- column: activation = name
-- column: attempts = how often it was tried
-- column: vm = where it was tried last
-- column: cause = why the last attempt ended
-- column: exit_code = of the last attempt; negative = killed by that signal
-- column: command = as it was run
-- column: workspace = where its files are
-- column: stderr = the last lines of the program's error output
-- column: blocks = activations that can never run because of it
SELECT activation.name AS activation,
       attempt.number AS attempts,
       attempt.vm,
       attempt.cause,
       attempt.exit_code,
       attempt.command,
       attempt.workspace,
       attempt.stderr_tail AS stderr,
       (SELECT count(*) FROM activation AS victim
        WHERE victim.run_id = activation.run_id
          AND victim.blocked_by = activation.activation_id) AS blocks
FROM activation
JOIN LATERAL (
    SELECT * FROM attempt
    WHERE attempt.run_id = activation.run_id
      AND attempt.activation_id = activation.activation_id
    ORDER BY number DESC LIMIT 1
) AS attempt ON true
WHERE activation.run_id = :run AND activation.state = 'failed'
ORDER BY activation.activation_id
