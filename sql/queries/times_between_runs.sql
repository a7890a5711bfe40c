-- question: Which activities take longer or shorter in one run than in another?
-- parameter: run = the run's number
-- parameter: other = number of the run to compare it with
-- column: activity = tag
-- column: finished = attempts of the run that finished
-- column: finished_in_other = the same in the other run
-- column: mean_s = how long they took; empty = none finished
-- column: mean_s_in_other = the same in the other run
-- column: ratio = mean_s / mean_s_in_other
SELECT tag AS activity, finished, finished_in_other, mean_s, mean_s_in_other,
       mean_s / nullif(mean_s_in_other, 0) AS ratio
FROM (
    SELECT tag,
           coalesce(sum(attempts) FILTER (WHERE run_id = :run), 0)::bigint AS finished,
           coalesce(sum(attempts) FILTER (WHERE run_id = :other), 0)::bigint AS finished_in_other,
           sum(seconds) FILTER (WHERE run_id = :run)
               / sum(attempts) FILTER (WHERE run_id = :run) AS mean_s,
           sum(seconds) FILTER (WHERE run_id = :other)
               / sum(attempts) FILTER (WHERE run_id = :other) AS mean_s_in_other
    FROM (
        SELECT run_id, activity_id, count(*) AS attempts,
               sum(date_part('epoch', ended_at - started_at)) AS seconds
        FROM attempt
        WHERE run_id IN (:run, :other) AND cause = 'finished'
        GROUP BY run_id, activity_id
    ) AS spent
    JOIN activity USING (activity_id)
    GROUP BY tag
) AS means
ORDER BY ratio DESC NULLS LAST, activity
