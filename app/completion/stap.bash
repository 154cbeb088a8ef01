# Completion of stap in bash: the program says what may follow (stap complete WORD...).
_stap() {
  local line=${COMP_LINE:0:COMP_POINT} word reply cut i
  local -a words=()
  # bash breaks words at "=" and ":"; what no blank separates in the line belongs together.
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    [ "$i" -lt "$COMP_CWORD" ] || word=${line#"${line%%[![:space:]]*}"}
    if [ "$i" -gt 0 ] && [[ $line != [[:space:]]* ]]; then
      words[-1]+=$word
    else
      words+=("$word")
      line=${line#"${line%%[![:space:]]*}"}
    fi
    line=${line#"$word"}
  done
  word=${words[-1]}
  # What bash replaces begins behind the last break.
  cut=${word%"${word##*["${COMP_WORDBREAKS//[^=:]/}"]}"}
  [ -n "${COMP_WORDBREAKS//[^=:]/}" ] || cut=
  COMPREPLY=()
  while IFS= read -r reply; do
    reply=${reply%%$'\t'*}
    reply=${reply#"$cut"}
    [[ $reply != *[[:space:]\'\"\\\$\&\;\(\)\<\>\|]* ]] || printf -v reply %q "$reply"
    COMPREPLY+=("$reply")
  done < <("${words[0]/#\~/$HOME}" complete "${words[@]:1}" 2>/dev/null)
  [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *[=,/] ]] || compopt -o nospace 2>/dev/null
}
complete -F _stap stap
