# The first process of a host made of namespaces: when it ends, everything on the host does.
# Arguments: host name, directory of the host, sshd.
set -eu
name=$1 directory=$2 sshd=$3
hostname "$name"
mount --rbind "$directory/tmp" /tmp # own files there, but for what is shared (bound below it)
mount -t tmpfs tmpfs /dev/shm
"$sshd" -D -f "$directory/sshd_config" -E "$directory/sshd.log" &
while kill -0 $! && [ "$(date +%s)" -lt "$(cat "$directory/lease")" ]; do
    sleep 1
done
