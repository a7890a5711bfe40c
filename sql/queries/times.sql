-- question: How much time did each activity take?
-- parameter: run = the run's number
-- column: activity = tag
-- column: finished = attempts that ended well
-- column: mean_s = mean duration of those
-- column: min_s = shortest
-- column: max_s = longest
-- column: total_s = added up
-- column: cpu_s = CPU time, added up
-- column: mean_queue_s = mean time between being ready and being started
SELECT activity.tag AS activity,
       count(*) AS finished,
       avg(took.seconds) AS mean_s,
       min(took.seconds) AS min_s,
       max(took.seconds) AS max_s,
       sum(took.seconds) AS total_s,
       sum(attempt.cpu_s) AS cpu_s,
       avg(took.queued_s) AS mean_queue_s
FROM attempt
JOIN activation USING (run_id, activation_id)
JOIN activity USING (activity_id)
CROSS JOIN LATERAL (
    SELECT extract(epoch FROM attempt.ended_at - attempt.started_at)::float AS seconds,
           extract(epoch FROM attempt.started_at - activation.created_at)::float AS queued_s
) AS took
WHERE run_id = :run AND attempt.cause = 'finished'
GROUP BY activity.activity_id
ORDER BY activity.position
