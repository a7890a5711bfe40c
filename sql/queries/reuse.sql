-- question: Which activations of the run had finished in an earlier run already, with the same key, and could be reused?
-- parameter: run = the run's number
-- column: activation = name
-- column: state = in this run
-- column: earlier_run = the latest run before it in which the same work finished
-- column: took_s = how long it took there
-- limit: 10000
WITH reusable AS (
    SELECT mine.activation_id, max(earlier.run_id * 4294967296 + earlier.activation_id) AS latest
    FROM activation AS mine
    JOIN activation AS earlier USING (key)
    WHERE mine.run_id = :run AND earlier.run_id < :run AND earlier.state = 'finished'
    GROUP BY mine.activation_id
    ORDER BY mine.activation_id
    LIMIT 10000
)
SELECT mine.name AS activation,
       mine.state,
       attempt.run_id AS earlier_run,
       date_part('epoch', attempt.ended_at - attempt.started_at) AS took_s
FROM reusable
JOIN activation AS mine ON mine.run_id = :run AND mine.activation_id = reusable.activation_id
JOIN attempt ON attempt.run_id = latest / 4294967296
            AND attempt.activation_id = latest % 4294967296
            AND attempt.cause = 'finished'
ORDER BY mine.activation_id
