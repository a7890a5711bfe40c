-- question: What did activations get, compared with what they asked for and what they used?
-- parameter: run = the run's number
-- column: activity = tag
-- column: attempts = that ended, and were sized
-- column: killed = attempts whose memory ran out
-- column: asked_cpus = mean of what is declared
-- column: given_cpus = mean of what they got
-- column: used_cpus = mean of CPU time / elapsed time
-- column: asked_mb = mean of the declared memory; empty = not said
-- column: given_mb = mean of their limits
-- column: peak_mb = mean of the memory that they used at their peak
-- column: wasted_gb_h = given and not used: of killed attempts all, of others above the peak
SELECT activity.tag AS activity,
       count(*) AS attempts,
       count(*) FILTER (WHERE attempt.cause = 'out of memory') AS killed,
       avg(given.asked_cpus)::float AS asked_cpus,
       avg(given.cpus)::float AS given_cpus,
       sum(attempt.cpu_s)
           / nullif(sum(date_part('epoch', attempt.ended_at - attempt.started_at)), 0)
           AS used_cpus,
       avg(given.asked_memory_mb)::float AS asked_mb,
       avg(given.memory_mb)::float AS given_mb,
       avg(attempt.peak_rss_bytes)::float / 1048576 AS peak_mb,
       sum(
           (
               given.memory_mb
               - CASE WHEN attempt.cause = 'finished' THEN attempt.peak_rss_bytes ELSE 0 END
                   / 1048576.0
           )::float * date_part('epoch', attempt.ended_at - attempt.started_at)
       ) / 1024 / 3600 AS wasted_gb_h
FROM attempt
JOIN allocation AS given USING (run_id, activation_id, number)
JOIN activity USING (activity_id)
WHERE attempt.run_id = :run AND attempt.ended_at IS NOT NULL AND given.asked_cpus IS NOT NULL
GROUP BY activity.activity_id
ORDER BY activity.position
