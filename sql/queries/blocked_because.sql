-- question: Which activations can never run, and because of what?
-- parameter: run = the run's number
-- column: activation = name
-- column: activity = tag
-- column: because_of = name of the activation that failed or was cancelled
-- column: state = of that activation
-- column: cause = why its last attempt ended
-- column: exit_code = of that attempt; negative = killed by that signal
-- column: stderr = the last lines of its error output
-- limit: 10000
WITH blocked AS (
    SELECT activation_id, name, activity_id, blocked_by
    FROM activation
    WHERE run_id = :run AND state = 'blocked'
    ORDER BY activation_id
    LIMIT 10000
)
SELECT blocked.name AS activation,
       activity.tag AS activity,
       culprit.name AS because_of,
       culprit.state,
       attempt.cause,
       attempt.exit_code,
       attempt.stderr_tail AS stderr
FROM blocked
JOIN activity USING (activity_id)
LEFT JOIN activation AS culprit ON culprit.run_id = :run
                               AND culprit.activation_id = blocked.blocked_by
LEFT JOIN attempt ON attempt.run_id = :run
                 AND attempt.activation_id = culprit.activation_id
                 AND attempt.number = culprit.attempts
ORDER BY blocked.activation_id
