-- question: Which activations had to be tried more than once, why, and what did that cost?
-- parameter: run = the run's number
-- column: activation = name
-- column: state = how it stands now
-- column: attempts = how often it was tried
-- column: causes = why the attempts ended, in their order
-- column: vms = where they ran, in the same order
-- column: lost_s = time of all attempts but the last
-- limit: 10000
WITH retried AS (
    SELECT activation_id, name, state, attempts
    FROM activation
    WHERE run_id = :run AND attempts > 1
    ORDER BY activation_id
    LIMIT 10000
)
SELECT retried.name AS activation,
       retried.state,
       retried.attempts,
       story.causes,
       story.vms,
       story.lost_s
FROM retried
CROSS JOIN LATERAL (
    SELECT string_agg(coalesce(cause, 'running'), ', ' ORDER BY number) AS causes,
           string_agg(vm, ', ' ORDER BY number) AS vms,
           sum(date_part('epoch', ended_at - started_at)) FILTER (
               WHERE number < retried.attempts
           )::float AS lost_s
    FROM attempt
    WHERE attempt.run_id = :run AND attempt.activation_id = retried.activation_id
) AS story
ORDER BY retried.activation_id
