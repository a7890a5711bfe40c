-- question: Which activations of the run had finished in an earlier run already, with the same key, and could be reused?
-- parameter: run = the run's number
-- column: activation = name
-- column: state = in this run
-- column: earlier_run = the latest run before it in which the same work finished
-- column: took_s = how long it took there
-- limit: 10000
WITH known AS MATERIALIZED (
    SELECT key, max(run_id * 4294967296 + activation_id) AS latest
    FROM activation
    WHERE run_id < :run AND state = 'finished'
    GROUP BY key
), reusable AS (
    SELECT mine.activation_id, mine.name, mine.state,
           (known.latest / 4294967296)::integer AS earlier_run,
           (known.latest % 4294967296)::integer AS earlier_activation
    FROM activation AS mine
    JOIN known USING (key)
    WHERE mine.run_id = :run
    ORDER BY mine.activation_id
    LIMIT 10000
)
SELECT reusable.name AS activation,
       reusable.state,
       reusable.earlier_run,
       date_part('epoch', attempt.ended_at - attempt.started_at) AS took_s
FROM reusable
JOIN attempt ON attempt.run_id = reusable.earlier_run
            AND attempt.activation_id = reusable.earlier_activation
            AND attempt.cause = 'finished'
ORDER BY reusable.activation_id
