-- question: How much time did activations wait for a slot, compared with the time they ran?
-- parameter: run = the run's number
-- column: activity = tag
-- column: activations = that were started
-- column: mean_queue_s = mean time from being known to the first start
-- column: max_queue_s = longest of these
-- column: mean_execution_s = mean time that all attempts of an activation took together
-- column: queue_s = all waiting, added up
-- column: execution_s = all running, added up
-- column: queue_share = waiting / (waiting + running)
WITH lived AS (
    SELECT attempt.activity_id,
           count(*) FILTER (WHERE attempt.number = 1) AS activations,
           sum(waited.seconds) FILTER (WHERE attempt.number = 1) AS queue_s,
           max(waited.seconds) FILTER (WHERE attempt.number = 1) AS max_queue_s,
           sum(ran.seconds) AS execution_s
    FROM run
    JOIN attempt USING (run_id)
    JOIN activation USING (run_id, activation_id)
    CROSS JOIN LATERAL (
        SELECT date_part('epoch', attempt.started_at - activation.created_at) AS seconds
    ) AS waited
    CROSS JOIN LATERAL (
        SELECT date_part(
            'epoch', coalesce(attempt.ended_at, run.ended_at, now()) - attempt.started_at
        ) AS seconds
    ) AS ran
    WHERE run.run_id = :run
    GROUP BY attempt.activity_id
)
SELECT activity.tag AS activity,
       activations,
       queue_s / activations AS mean_queue_s,
       max_queue_s,
       execution_s / activations AS mean_execution_s,
       queue_s,
       execution_s,
       queue_s / nullif(queue_s + execution_s, 0) AS queue_share
FROM lived
JOIN activity USING (activity_id)
ORDER BY activity.position
