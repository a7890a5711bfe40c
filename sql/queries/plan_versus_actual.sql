-- question: Where and when should every activation have run, and where and when did it?
-- parameter: run = the run's number
-- column: activation = name
-- column: planned_vm = of the plan; empty when the plan did not foresee it
-- column: vm = where it really ran
-- column: planned_start_s = from the start of the run
-- column: start_s = the same, measured
-- column: planned_s = how long it was expected to take
-- column: took_s = how long it took
SELECT activation.name AS activation,
       assignment.vm AS planned_vm,
       attempt.vm,
       assignment.start_s AS planned_start_s,
       extract(epoch FROM attempt.started_at - run.started_at)::float AS start_s,
       assignment.finish_s - assignment.start_s AS planned_s,
       extract(epoch FROM attempt.ended_at - attempt.started_at)::float AS took_s
FROM run
JOIN activation USING (run_id)
JOIN attempt USING (run_id, activation_id)
LEFT JOIN assignment ON assignment.plan_id = run.plan_id
                    AND assignment.activation = activation.name
WHERE run_id = :run
ORDER BY attempt.started_at, activation.activation_id
