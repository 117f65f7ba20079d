/**
 * Ends our programs when this process ends in any way: also after SIGKILL, and while our thread is busy. One small
 * shell per process holds a pipe to us and a list of our process groups. When the pipe closes, the groups, and those
 * that job control made in their sessions, get SIGTERM and then SIGKILL. The start time of a leader identifies it, in
 * case its number is reused. The shell ignores the signals of a terminal and uses only its own variables.
 */
export const WATCHER_SCRIPT = `trap '' INT QUIT TERM HUP PIPE TSTP
list=' '
while read -r sign pid began; do
  case $sign in
    +) list="$list$pid:$began " ;;
    -) case $list in *" $pid:"*) rest=\${list#*" $pid:"}; list="\${list%%" $pid:"*} \${rest#* }" ;; esac ;;
  esac
done
stat() { { read -r line </proc/$1/stat; } 2>/dev/null && set -- \${line##*) } && session=$4 && time=\${20}; }
end() {
  for one in $list; do
    pid=\${one%%:*} began=\${one#*:}
    if stat $pid && [ "$began" != 0 ] && [ "$time" != "$began" ]; then continue; fi
    kill -s $1 -- -$pid
    for path in /proc/[0-9]*; do
      if stat \${path#/proc/} && [ "$session" = $pid ]; then kill -s $1 \${path#/proc/}; fi
    done
  done
} 2>/dev/null
[ "$list" = ' ' ] && exit
end TERM
sleep 0.5
end KILL`
