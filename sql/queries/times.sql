-- question: How much time did each activity take?
-- parameter: run = the run's number
-- column: activity = tag
-- column: finished = attempts that ended well
-- column: mean_s = mean duration of those
-- column: min_s = shortest
-- column: max_s = longest
-- column: total_s = added up
-- column: cpu_s = CPU time, added up
SELECT activity.tag AS activity,
       count(*) AS finished,
       avg(took.seconds) AS mean_s,
       min(took.seconds) AS min_s,
       max(took.seconds) AS max_s,
       sum(took.seconds) AS total_s,
       sum(attempt.cpu_s) AS cpu_s
FROM attempt
JOIN activity USING (activity_id)
CROSS JOIN LATERAL (
    SELECT date_part('epoch', attempt.ended_at - attempt.started_at) AS seconds
) AS took
WHERE attempt.run_id = :run AND attempt.cause = 'finished'
GROUP BY activity.activity_id
ORDER BY activity.position
