-- question: How long do the activities of this workflow take, over all of its runs?
-- parameter: run = any run of the workflow
-- column: activity = tag; it counts in all stored versions of the workflow
-- column: attempts = in all runs
-- column: failed = attempts that ended otherwise than well
-- column: mean_s = mean duration of those that ended well
-- column: sd_s = their standard deviation
-- column: min_s = shortest
-- column: max_s = longest
-- column: mean_cpu_s = mean CPU time
SELECT activity.tag AS activity,
       count(*) AS attempts,
       count(*) FILTER (WHERE attempt.cause <> 'finished') AS failed,
       avg(took.seconds) FILTER (WHERE attempt.cause = 'finished') AS mean_s,
       stddev_samp(took.seconds) FILTER (WHERE attempt.cause = 'finished') AS sd_s,
       min(took.seconds) FILTER (WHERE attempt.cause = 'finished') AS min_s,
       max(took.seconds) FILTER (WHERE attempt.cause = 'finished') AS max_s,
       avg(attempt.cpu_s) FILTER (WHERE attempt.cause = 'finished') AS mean_cpu_s
FROM attempt
JOIN activity USING (activity_id)
CROSS JOIN LATERAL (
    SELECT date_part('epoch', attempt.ended_at - attempt.started_at) AS seconds
) AS took
WHERE activity.workflow_id IN (
    SELECT version.workflow_id
    FROM run
    JOIN workflow AS its USING (workflow_id)
    JOIN workflow AS version ON version.tag = its.tag
    WHERE run.run_id = :run
)
GROUP BY activity.tag
ORDER BY min(activity.position), activity.tag
