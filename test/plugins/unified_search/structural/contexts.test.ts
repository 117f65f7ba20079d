import { bootKernel, type Booted, type Files } from 'vtcode/test'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const files: Files = {
  'a.go':
    'package main\nimport "fmt"\ntype T struct {\n\tName string `json:"n"`\n}\nfunc main() {\n\tfmt.Println("x")\n\tx := run(T{Name: "a"})\n\tswitch x {\n\tcase 1:\n\t\tgo stop(x)\n\t}\n}\n',
  'a.c': 'struct s { int size; };\nint f(void) { printf("x", 1); g(2); return 0; }\n',
  'a.cpp': 'class A {\npublic:\n  explicit A(int size) : size_(size) {}\n  int count() const { return g(1); }\n};\n',
  'a.dart': 'void f() { print("x"); }\nclass A { A(this.size); }\n',
  'a.sol': 'contract A { function f() public { require(x > 0, "no"); emit Added(x); } }\n',
  'A.java': 'class A {\n  private int size = 5;\n  public void run(int x) { call(x); }\n}\n',
  'A.cs': 'class A {\n  public int Size { get; set; }\n  public void Run(int x) { Call(x); }\n}\n',
  'a.rs': 'struct S { size: u32 }\nfn f(x: Option<u32>) -> u32 { match x { Some(y) => y, None => 0 } }\n',
  'a.ts':
    'class A {\n  size: number = 1\n  async run(x: number) { return call(x) }\n}\nconst o = { retries: 3 }\ntype M = Map<string, number>\ninterface I { size: number }\n',
  'a.py':
    'def f(x):\n    try:\n        g(retries=3)\n    except ValueError as error:\n        pass\n    return {"a": 1}\n',
  'a.json': '{ "name": "cart" }\n',
  'a.php': '<?php\nclass A {\n  public function run($x) { return [$x => 1]; }\n}\n',
  'a.rb': "case x\nwhen 1 then notify(x)\nend\ny = { 'second' => 2 }\n",
}
const headerFiles: Files = {
  'a.ts': 'async function go(a: number) { return 1 }\nfunction f(): void {}\nclass B {}\nif (a) { b() }\n',
  'a.js': 'if (a) { b() }\n',
  'a.rs': 'fn one(a: i32) -> i32 { a }\n',
  'a.go': 'package main\nfunc one(a int) int { return a }\n',
  'a.py': 'def f(x):\n    pass\nclass A:\n    pass\n',
  'a.rb': 'def one(a)\n  a\nend\n',
  'A.java': 'class A {\n  public void run(int x) { call(x); }\n}\n',
  'A.cs': 'class A {\n  public void Run(int x) { Call(x); }\n}\n',
  'a.php': '<?php\nclass A {\n  public function run($x) { return 1; }\n}\n',
  'a.kt': 'fun one(a: Int): Int { return a }\n',
  'a.swift': 'func one(a: Int) -> Int { return a }\n',
  'a.lua': 'function one(a)\n  return a\nend\n',
}
let ws: Booted
let headers: Booted
beforeAll(async () => {
  ws = await bootKernel({ files })
  headers = await bootKernel({ files: headerFiles })
})
afterAll(async () => {
  await ws[Symbol.asyncDispose]()
  await headers[Symbol.asyncDispose]()
})

const search = async (input: object): Promise<any> => ws.call('unified_search', { action: 'structural', ...input })

describe('unified_search/structural: a pattern that is code only within other code', () => {
  it.each([
    ['go', 'fmt.Println($A)', ['fmt.Println("x")']],
    ['go', 'Name: $V', ['Name: "a"']],
    ['go', 'case $A: $$$B', ['case 1:\n\t\tgo stop(x)\n']],
    ['go', 'Name string `json:"n"`', ['Name string `json:"n"`']],
    ['c', 'printf($$$A)', ['printf("x", 1)']],
    ['c', 'g($A)', ['g(2)']],
    ['c', 'g($A);', ['g(2);']],
    ['cpp', 'g($A)', ['g(1)']],
    ['cpp', 'int count() const { return g($A); }', ['int count() const { return g(1); }']],
    ['cpp', 'explicit A($$$P) : size_($I) {}', ['explicit A(int size) : size_(size) {}']],
    ['dart', 'print($A)', ['print("x")']],
    ['solidity', 'require($$$A)', ['require(x > 0, "no")']],
    ['java', 'private int $X = $V', ['private int size = 5;']],
    ['java', 'public void run($$$P) { $$$B }', ['public void run(int x) { call(x); }']],
    ['csharp', 'public int $P { get; set; }', ['public int Size { get; set; }']],
    ['csharp', 'public void Run($$$P) { $$$B }', ['public void Run(int x) { Call(x); }']],
    ['rust', 'Some($A) => $B', ['Some(y) => y,']],
    ['rust', 'size: u32', ['size: u32']],
    ['ts', 'async run($$$P) { $$$B }', ['async run(x: number) { return call(x) }']],
    ['ts', 'retries: $N', ['retries: 3']],
    ['ts', 'Map<string, $T>', ['Map<string, number>']],
    ['py', 'retries=$N', ['retries=3']],
    ['py', 'except $E as $N: $$$B', ['except ValueError as error:\n        pass']],
    ['py', '"a": $V', ['"a": 1']],
    ['json', '"name": "cart"', ['"name": "cart"']],
    ['php', 'public function run($$$P) { $$$B }', ['public function run($x) { return [$x => 1]; }']],
    ['rb', "'second' => $V", ["'second' => 2"]],
    ['rb', 'when $A then $B', ['when 1 then notify(x)']],
  ])('finds %s %s', async (lang, pattern, texts) => {
    const result = await search({ lang, pattern })
    expect(result.ok ? result.output.matches.map(({ text }: any) => text) : result.error, pattern).toEqual(texts)
  })
})

describe('unified_search/structural: a rewrite of code within other code', () => {
  it.each([
    ['go', { pattern: 'fmt.Println($A)', rewrite: 'log.Println($A)' }, 'log.Println("x")', []],
    ['c', { pattern: 'printf($$$A)', fix_config: { template: 'print($$$A)' } }, 'print("x", 1)', []],
    ['ts', { pattern: 'retries: $N', rewrite: 'attempts: $N' }, 'attempts: 3', ['VT_SEARCH_FRAGMENT']],
    ['rust', { pattern: 'Some($A) => $B', rewrite: 'Ok($A) => $B' }, 'Ok(y) => y', ['VT_SEARCH_FRAGMENT']],
  ])('previews it in %s for %j', async (lang, input, replacement, codes) => {
    const result = await search({ lang, workflow: 'rewrite', ...input })
    expect(result.ok ? result.output.rewrites.map((one: any) => one.replacement) : result.error).toEqual([replacement])
    expect((result.notices ?? []).map(({ code }: any) => code)).toEqual(codes)
  })
  it('requires the kind with the pattern', async () => {
    const input = { lang: 'go', pattern: 'fmt.Println($A)' }
    expect(await search({ ...input, kind: 'call_expression' })).toMatchObject({ output: { total_matches: 1 } })
    expect(await search({ ...input, kind: 'identifier' })).toMatchObject({ output: { total_matches: 0 } })
  })
})

describe('unified_search/structural: a header without its body', () => {
  it.each([
    ['ts', 'function $F($$$)'],
    ['ts', 'async function $F($$$)'],
    ['ts', 'if ($A)'],
    ['ts', 'class $A'],
    ['js', 'if ($A)'],
    ['rust', 'fn $F($$$)'],
    ['go', 'func $F($$$)'],
    ['py', 'def $F($$$):'],
    ['py', 'class $A:'],
    ['rb', 'def $F($$$)'],
    ['java', 'public void $F($$$)'],
    ['csharp', 'public void $F($$$)'],
    ['php', 'public function $F($$$)'],
    ['kt', 'fun $F($$$)'],
    ['swift', 'func $F($$$)'],
    ['lua', 'function $F($$$)'],
  ])('answers %s %s with matches, or with a whole pattern that matches', async (lang, pattern) => {
    const result: any = await headers.call('unified_search', { action: 'structural', lang, pattern })
    if (!result.ok) expect(result.error).toMatchObject({ code: 'VT_SEARCH_FRAGMENT', next: { input: { lang } } })
    const { tool, input } = result.error?.next ?? {
      tool: 'unified_search',
      input: { action: 'structural', lang, pattern },
    }
    const answer: any = await headers.call(tool, input)
    expect(answer.ok && answer.output.total_matches, JSON.stringify(input)).toBeGreaterThan(0)
  })
  it('keeps the other fields in the call with the whole pattern', async () => {
    const input = { action: 'structural', lang: 'rust', pattern: 'fn $F($$$)', path: 'a.rs', max_results: 7 }
    expect(await headers.call('unified_search', input)).toMatchObject({
      ok: false,
      error: {
        code: 'VT_SEARCH_FRAGMENT',
        message: expect.stringContaining("'fn $F($$$) -> $_ { $$$ }' matches 1 time."),
        next: { tool: 'unified_search', input: { ...input, pattern: 'fn $F($$$) -> $_ { $$$ }' } },
      },
    })
  })
})

describe('unified_search/structural: words instead of code', () => {
  it.each([
    ['a.rb', 'puts 1\n'],
    ['a.sh', 'echo one\n'],
    ['a.kt', 'fun f() {}\n'],
    ['a.py', 'x = 1\n'],
    ['a.c', 'int x;\n'],
  ])('names grep for prose in %s', async (file, text) => {
    for (const more of [{}, { 'b.ts': 'x = 1\n', 'b.go': 'package b\n' }] as Files[]) {
      await using ws = await bootKernel({ files: { [file]: text, ...more } })
      for (const pattern of ['AgentLoop agent loop', 'handle the request'])
        expect(await ws.call('unified_search', { action: 'structural', pattern }), pattern).toMatchObject({
          ok: false,
          error: {
            code: expect.stringMatching(/^VT_SEARCH_(PATTERN|FRAGMENT)$/),
            next: { tool: 'unified_search', input: { action: 'grep', pattern, literal: true } },
          },
        })
    }
  })
})

it('reads a pattern over 2,000 characters only as written, and states that', async () => {
  for (const lang of ['c', 'py', 'ts', 'rust']) {
    const pattern = `load${'[$A]'.repeat(500)}`
    expect(await search({ lang, pattern }), lang).toMatchObject({
      ok: true,
      notices: [{ code: 'VT_SEARCH_FRAGMENT', message: expect.stringContaining('over 2000 characters') }],
    })
    expect(await search({ lang, pattern: 'load('.repeat(401) }), lang).toMatchObject({ ok: false })
  }
})

describe('unified_search/structural: text like a pattern that matches nothing', () => {
  it('names the files where a comment, a string or other code has the text', async () => {
    await using ws = await bootKernel({
      files: { 'a.py': '# connect(host)\nx = 1\n', 'b.py': 'y = "connect( port )"\n', 'c.py': 'connected = 1\n' },
    })
    const result: any = await ws.call('unified_search', { action: 'structural', pattern: 'connect($A)', lang: 'py' })
    expect(result).toMatchObject({
      ok: true,
      output: { total_matches: 0 },
      notices: [{ code: 'VT_SEARCH_FRAGMENT', message: expect.stringMatching(/a\.py, b\.py.*grep/) }],
    })
  })
})
