-- question: Which chain of activations, each fed by the one before, ended last and so made the run as long as it is?
-- parameter: run = the run's number
-- column: step = 1, 2, … in the order in which they ran
-- column: activation = name
-- column: vm = where its last attempt ran
-- column: attempts = how often it was tried
-- column: waited_s = from the end of the one before (or the run's start) to the start of its last attempt
-- column: took_s = how long that attempt took
-- column: ended_s = from the start of the run to its end
WITH RECURSIVE path (activation_id, back) AS (
    (
        SELECT activation_id, 0
        FROM attempt
        WHERE run_id = :run AND ended_at IS NOT NULL
        ORDER BY ended_at DESC, activation_id
        LIMIT 1
    )
  UNION ALL
    SELECT parent.activation_id, path.back + 1
    FROM path
    CROSS JOIN LATERAL (
        SELECT maker.activation_id
        FROM used
        JOIN tuple ON tuple.run_id = used.run_id AND tuple.tuple_id = used.tuple_id
        JOIN activation AS maker ON maker.run_id = tuple.run_id
                                AND maker.activation_id = tuple.generated_by
        WHERE used.run_id = :run AND used.activation_id = path.activation_id
        ORDER BY maker.ended_at DESC NULLS LAST, maker.activation_id
        LIMIT 1
    ) AS parent
)
SELECT row_number() OVER (ORDER BY path.back DESC) AS step,
       activation.name AS activation,
       attempt.vm,
       attempt.number AS attempts,
       date_part(
           'epoch',
           attempt.started_at
           - coalesce(lag(attempt.ended_at) OVER (ORDER BY path.back DESC), run.started_at)
       ) AS waited_s,
       date_part('epoch', attempt.ended_at - attempt.started_at) AS took_s,
       date_part('epoch', attempt.ended_at - run.started_at) AS ended_s
FROM path
JOIN run ON run.run_id = :run
JOIN activation ON activation.run_id = run.run_id
               AND activation.activation_id = path.activation_id
JOIN attempt ON attempt.run_id = run.run_id
            AND attempt.activation_id = path.activation_id
            AND attempt.number = activation.attempts
ORDER BY step
