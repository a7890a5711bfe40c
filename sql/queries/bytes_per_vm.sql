-- question: How much did the programs on each VM read and write?
-- parameter: run = the run's number
-- column: vm = id within the run's fleet
-- column: vm_type = name
-- column: attempts = that ran there
-- column: read_bytes = by all of them, from storage
-- column: written_bytes = the same, to storage
SELECT vm.vm,
       vm.vm_type,
       coalesce(moved.attempts, 0) AS attempts,
       coalesce(moved.read_bytes, 0) AS read_bytes,
       coalesce(moved.written_bytes, 0) AS written_bytes
FROM vm
LEFT JOIN (
    SELECT vm,
           count(*) AS attempts,
           sum(read_bytes)::bigint AS read_bytes,
           sum(written_bytes)::bigint AS written_bytes
    FROM attempt
    WHERE run_id = :run
    GROUP BY vm
) AS moved USING (vm)
WHERE vm.run_id = :run
ORDER BY vm.vm
