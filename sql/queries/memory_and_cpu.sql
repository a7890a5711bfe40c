-- question: How much memory and CPU do the activities need, compared with what they ask for?
-- parameter: run = the run's number
-- column: activity = tag
-- column: attempts = that ended well
-- column: cpus = asked for: a number, or the tag that gives it
-- column: mean_cores = mean of CPU time / elapsed time
-- column: cpu_s = CPU time, added up
-- column: memory_mb = asked for; 0 = not said
-- column: mean_rss_mb = mean of the attempts' peak memory
-- column: max_rss_mb = highest peak
SELECT activity.tag AS activity,
       count(*) AS attempts,
       activity.cpus,
       sum(attempt.cpu_s)
           / nullif(sum(date_part('epoch', attempt.ended_at - attempt.started_at)), 0)
           AS mean_cores,
       sum(attempt.cpu_s) AS cpu_s,
       activity.memory_mb,
       avg(attempt.peak_rss_bytes)::float / 1048576 AS mean_rss_mb,
       max(attempt.peak_rss_bytes)::float / 1048576 AS max_rss_mb
FROM attempt
JOIN activity USING (activity_id)
WHERE attempt.run_id = :run AND attempt.cause = 'finished'
GROUP BY activity.activity_id
ORDER BY activity.position
