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
-- limit: 10000
WITH failed AS (
    SELECT activation_id, name, attempts
    FROM activation
    WHERE run_id = :run AND state = 'failed'
    ORDER BY activation_id
    LIMIT 10000
), victims AS (
    SELECT blocked_by AS activation_id, count(*) AS blocks
    FROM activation
    WHERE run_id = :run AND blocked_by IS NOT NULL
    GROUP BY blocked_by
)
SELECT failed.name AS activation,
       failed.attempts,
       attempt.vm,
       attempt.cause,
       attempt.exit_code,
       attempt.command,
       attempt.workspace,
       attempt.stderr_tail AS stderr,
       coalesce(victims.blocks, 0) AS blocks
FROM failed
JOIN attempt ON attempt.run_id = :run
            AND attempt.activation_id = failed.activation_id
            AND attempt.number = failed.attempts
LEFT JOIN victims ON victims.activation_id = failed.activation_id
ORDER BY failed.activation_id
