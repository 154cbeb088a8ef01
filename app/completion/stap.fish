# Completion of stap in fish: the program says what may follow (stap complete WORD...).
function __stap_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] complete $words[2..] 2>/dev/null
end
complete -c stap -f -a '(__stap_complete)'
