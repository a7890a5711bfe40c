-- question: How many bytes of each activity's files went between its VMs and the run's storage, and how fast?
-- parameter: run = the run's number
-- column: activity = tag
-- column: vm_type = name
-- column: way = fetch (before a program starts) or upload (after it has ended)
-- column: attempts = that moved files
-- column: files = that were needed, or made
-- column: cached = of these, were there already
-- column: size_bytes = that went over the network
-- column: seconds = of all attempts together
-- column: mb_per_s = of those that moved anything; empty = none did
-- column: retries = calls that were repeated
SELECT activity.tag AS activity,
       vm.vm_type,
       transfer.way,
       count(*) AS attempts,
       sum(transfer.files)::bigint AS files,
       sum(transfer.cached)::bigint AS cached,
       sum(transfer.size_bytes)::bigint AS size_bytes,
       sum(transfer.seconds) AS seconds,
       sum(transfer.size_bytes) FILTER (WHERE transfer.size_bytes > 0) / 1e6
           / nullif(sum(transfer.seconds) FILTER (WHERE transfer.size_bytes > 0), 0) AS mb_per_s,
       sum(transfer.retries)::bigint AS retries
FROM transfer
JOIN attempt USING (run_id, activation_id, number)
JOIN activity USING (activity_id)
JOIN vm USING (run_id, vm)
WHERE run_id = :run
GROUP BY activity.tag, vm.vm_type, transfer.way
ORDER BY activity.tag, vm.vm_type, transfer.way
