-- question: On which VMs do attempts fail?
-- parameter: run = the run's number
-- column: vm = id within the run's fleet
-- column: vm_type = name
-- column: host = where it is
-- column: state = joining, joined, lost, drained or left
-- column: reason = why it was drained
-- column: attempts = started there
-- column: failed = of these, that the program or its output failed
-- column: lost = of these, that went down with the VM
-- column: failed_share = failed / attempts
SELECT vm.vm,
       vm.vm_type,
       vm.host,
       vm.state,
       vm.reason,
       coalesce(counted.attempts, 0) AS attempts,
       coalesce(counted.failed, 0) AS failed,
       coalesce(counted.lost, 0) AS lost,
       counted.failed::float / counted.attempts AS failed_share
FROM vm
LEFT JOIN (
    SELECT vm,
           count(*) AS attempts,
           count(*) FILTER (WHERE cause NOT IN ('finished', 'cancelled', 'lost vm', 'pre-empted')) AS failed,
           count(*) FILTER (WHERE cause IN ('lost vm', 'pre-empted')) AS lost
    FROM attempt
    WHERE run_id = :run
    GROUP BY vm
) AS counted USING (vm)
WHERE vm.run_id = :run
ORDER BY coalesce(counted.failed, 0) DESC, vm.vm
