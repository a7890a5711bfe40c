-- question: Which attempts take much longer than is usual for their activity (mean + 2.33 standard deviations)?
-- parameter: run = the run's number
-- column: activation = name
-- column: attempt = number of the try
-- column: vm = where it runs or ran
-- column: state = running or finished
-- column: took_s = how long; until now if it is running
-- column: mean_s = mean of the activity's attempts in this run that ended well
-- column: sd_s = their standard deviation
-- column: bound_s = mean + 2.33 standard deviations: one in a hundred is slower by chance
-- limit: 10000
WITH usual AS MATERIALIZED (
    SELECT activity_id,
           avg(date_part('epoch', ended_at - started_at)) AS mean_s,
           stddev_samp(date_part('epoch', ended_at - started_at)) AS sd_s
    FROM attempt
    WHERE run_id = :run AND cause = 'finished'
    GROUP BY activity_id
), slow AS (
    SELECT attempt.activation_id,
           attempt.number,
           attempt.vm,
           CASE WHEN attempt.cause IS NULL THEN 'running' ELSE 'finished' END AS state,
           took.seconds AS took_s,
           usual.mean_s,
           usual.sd_s,
           usual.mean_s + 2.33 * usual.sd_s AS bound_s
    FROM run
    JOIN attempt USING (run_id)
    JOIN usual USING (activity_id)
    CROSS JOIN LATERAL (
        SELECT date_part(
            'epoch', coalesce(attempt.ended_at, run.ended_at, now()) - attempt.started_at
        ) AS seconds
    ) AS took
    WHERE run.run_id = :run
      AND (attempt.cause = 'finished' OR attempt.cause IS NULL)
      AND took.seconds > usual.mean_s + 2.33 * usual.sd_s
    ORDER BY took.seconds - (usual.mean_s + 2.33 * usual.sd_s) DESC, attempt.activation_id
    LIMIT 10000
)
SELECT activation.name AS activation,
       slow.number AS attempt,
       slow.vm,
       slow.state,
       slow.took_s,
       slow.mean_s,
       slow.sd_s,
       slow.bound_s
FROM slow
JOIN activation ON activation.run_id = :run AND activation.activation_id = slow.activation_id
ORDER BY slow.took_s - slow.bound_s DESC, slow.activation_id, slow.number
