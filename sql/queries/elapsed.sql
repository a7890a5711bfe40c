-- question: In which state is the run, and how long has it been going on?
-- parameter: run = the run's number
-- column: run = its number
-- column: workflow = tag
-- column: state = prepared, running, paused, finished, failed, stopped or interrupted
-- column: started_at = when its master took it up
-- column: ended_at = empty while it goes on
-- column: elapsed_s = from its start to its end, or until now
-- column: predicted_s = makespan that the plan foresaw
SELECT run.run_id AS run,
       workflow.tag AS workflow,
       run.state,
       run.started_at,
       run.ended_at,
       date_part('epoch', coalesce(run.ended_at, now()) - run.started_at) AS elapsed_s,
       plan.makespan_s AS predicted_s
FROM run
JOIN workflow USING (workflow_id)
JOIN plan USING (plan_id)
WHERE run.run_id = :run
