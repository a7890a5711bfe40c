-- question: Where and when should every activation have run, and where and when did it?
-- parameter: run = the run's number
-- column: activation = name
-- column: position = in the plan; empty when the plan did not foresee it
-- column: planned_vm = of the plan
-- column: vm = where it really ran
-- column: moved_because = why that is not the planned VM; of its last attempt
-- column: planned_start_s = from the start of the run
-- column: start_s = the same, measured
-- column: planned_s = how long it was expected to take
-- column: took_s = how long it took
-- limit: 10000
WITH started AS (
    SELECT activation_id, vm, started_at, ended_at
    FROM attempt
    WHERE run_id = :run
    ORDER BY started_at, activation_id
    LIMIT 10000
)
SELECT activation.name AS activation,
       activation.position,
       activation.planned_vm,
       started.vm,
       activation.moved_because,
       assignment.start_s AS planned_start_s,
       date_part('epoch', started.started_at - run.started_at) AS start_s,
       assignment.finish_s - assignment.start_s AS planned_s,
       date_part('epoch', started.ended_at - started.started_at) AS took_s
FROM run
CROSS JOIN started
JOIN activation ON activation.run_id = :run AND activation.activation_id = started.activation_id
LEFT JOIN assignment ON assignment.plan_id = run.plan_id
                    AND assignment.position = activation.position
WHERE run.run_id = :run
ORDER BY started.started_at, started.activation_id
