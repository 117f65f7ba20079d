import { join } from 'node:path'
import { bootKernel } from 'vtcode/test'
import { afterEach, describe, expect, it } from 'vitest'

afterEach(() => {
  delete process.env['VTCODE_AST_GREP_BIN']
})

interface Sample {
  lang: string
  text: string
  /** Names of items, each with those of its members. */
  names: Record<string, string[]>
  /** Names that only one engine has a grammar for. */
  isProgramOnly?: true
}

const samples: Record<string, Sample> = {
  'a.go': {
    lang: 'Go',
    text: `package p

import "io"

type (
	A struct {
		Base
		*io.Pipe
		x, y int
		run  func() struct{ z int }
	}
	B = int
	I interface{ Run() }
)
type S[T any] struct{ G[T] }

func (a *A) Run()    {}
func (s *S[T]) Run() {}
func top()           { var local int; _ = local }

var v, w = 1, 2
var _ I = nil

const (
	P, Q = iota, 1
	R    = 2
)
`,
    names: {
      A: ['Base', 'Pipe', 'x', 'y', 'run'],
      B: [],
      I: ['Run'],
      S: ['G'],
      'A.Run': [],
      'S.Run': [],
      top: [],
      v: [],
      w: [],
      P: [],
      Q: [],
      R: [],
    },
  },
  'a.rb': {
    lang: 'Ruby',
    text: `module A
  X = 1
  class B
    Y, Z = 1, 2
    def run; end
    def self.go; end
    class << self
      def meta; end
    end
    class Inner
      def deep; end
    end
  end
  def own; end
end
class A::D
  def x; end
end
def top; end
TOP = 1
`,
    names: {
      A: ['X', 'B', 'B.Y', 'B.Z', 'B.run', 'B.go', 'B.meta', 'B.Inner', 'B.Inner.deep', 'own'],
      'A::D': ['x'],
      top: [],
      TOP: [],
    },
  },
  'A.java': {
    lang: 'Java',
    text: `class A {
  private int x, y;
  Runnable r = new Runnable() { public void run() {} };
  A() {}
  void f() { class Local {} }
  static class B { void f() {} }
  enum E { P, Q { void k() {} }; int z; }
  interface I { int C = 1; void m(); }
}
record R(int a) { R {} }
@interface N { String value(); }
`,
    names: {
      A: ['x', 'y', 'r', 'A', 'f', 'B', 'B.f', 'E', 'E.P', 'E.Q', 'E.z', 'I', 'I.C', 'I.m'],
      R: ['a', 'R'],
      N: ['value'],
    },
  },
  'a.cs': {
    lang: 'CSharp',
    text: `namespace N {
  public class A {
    int x, y;
    event System.Action Done;
    public int P { get; set; }
    int this[int i] => 1;
    A() {}
    void F() { void Local() {} }
    enum E { X }
    delegate void D();
    struct S { int z; class Deep { void q() {} } }
    record R(int Q);
  }
}
`,
    names: {
      A: 'x y Done P this A F E E.X D S S.z S.Deep S.Deep.q R R.Q'.split(' '),
    },
  },
  'a.rs': {
    lang: 'Rust',
    text: `pub type T = u8;
macro_rules! mac { () => {} }
pub union U { a: u8 }
trait Tr { type X; const C: u8 = 1; fn f(&self); }
impl Tr for T { type X = u8; fn f(&self) { fn local() {} } }
mod m {
    pub struct In { z: u8 }
    impl In { fn q() {} }
    static Z: u8 = 1;
    mod n { const Y: u8 = 1; }
}
static mut M: u8 = 1;
const _: () = ();
`,
    names: { T: ['X', 'f'], mac: [], U: ['a'], Tr: ['X', 'C', 'f'], m: ['In', 'In.z', 'In.q', 'Z', 'n', 'n.Y'], M: [] },
  },
  'a.py': {
    lang: 'Python',
    text: `type A = int
a, b = 1, 2
(c, *d), e = x
g = h = 1
o.attr, t[0] = 1, 2
if a:
    def cond(): pass
class C:
    u, v = 1, 2
    class D:
        r = 1
        def m(self): local = 1
    if a:
        def n(self): pass
`,
    names: {
      A: [],
      a: [],
      b: [],
      c: [],
      d: [],
      e: [],
      g: [],
      h: [],
      cond: [],
      C: ['u', 'v', 'D', 'D.r', 'D.m', 'n'],
    },
  },
  'a.php': {
    lang: 'Php',
    text: `<?php
namespace N;
const C1 = 1, C2 = 2;
abstract class A {
  public const X = 1, Y = 2;
  private int $a, $b = 1;
  function f() { function inner() {} }
}
enum E: string { case A = "a"; const B = self::A; public function m() {} }
trait T { const Z = 1; function t() {} }
$x = new class { function anon() {} };
`,
    names: { C1: [], C2: [], A: ['X', 'Y', '$a', '$b', 'f'], E: ['A', 'B', 'm'], T: ['Z', 't'] },
  },
  'a.swift': {
    lang: 'Swift',
    isProgramOnly: true,
    text: `class A {
  var x = 1, y = 2
  init() {}
  class B { func f() {} }
  enum E { case a, b(Int) }
  typealias T = Int
  var sum: Int { let local = 1; return local }
}
extension A { func g() {} }
extension Foo.Bar { struct In { var z = 1 } }
protocol P { var n: Int { get }; func h(); associatedtype Z }
public let top = 1
`,
    names: {
      A: ['x', 'y', 'init', 'B', 'B.f', 'E', 'E.a', 'E.b', 'T', 'sum'],
      'Foo.Bar': ['In', 'In.z'],
      P: ['n', 'h', 'Z'],
      top: [],
    },
  },
  'a.kt': {
    lang: 'Kotlin',
    isProgramOnly: true,
    text: `typealias T = Int
const val X = 1
val (a, b) = p
fun String.ext(): Int = 1
class A(val p: Int, q: Int) {
  val z = 1
  class B { fun f() {} }
  companion object { const val K = 1 }
  interface I { fun i() }
}
object Ob : Base() {
  val o = 1
}
`,
    names: { T: [], X: [], a: [], b: [], ext: [], A: ['p', 'z', 'B', 'B.f', 'K', 'I', 'I.i'], Ob: ['o'] },
  },
}

describe.each(['ast-grep', 'tree-sitter'])('unified_search/outline: names by %s', (backend) => {
  const chosen = Object.entries(samples).filter(([, { isProgramOnly }]) => backend === 'ast-grep' || !isProgramOnly)
  it.each(chosen)(
    'lists each declared name of %s by the types that hold it, and none that is local',
    async (path, sample) => {
      await using ws = await bootKernel({ files: { [path]: sample.text } })
      if (backend === 'tree-sitter') process.env['VTCODE_AST_GREP_BIN'] = join(ws.home, 'gone')
      const result = await ws.call('unified_search', {
        action: 'outline',
        path,
        view: 'full',
        response_format: 'detailed',
      })
      expect(result).toMatchObject({ ok: true, output: { backend, files: [{ lang: sample.lang }] } })
      const { items } = (result as any).output.files[0] as { items: { name: string; members: { name: string }[] }[] }
      const names: Record<string, string[]> = {}
      for (const { name, members } of items) (names[name] ??= []).push(...members.map((member) => member.name))
      const expected = path === 'a.swift' ? { ...sample.names, A: [...sample.names['A']!, 'g'] } : sample.names
      expect(names).toEqual(expected)
    },
  )
  it('lists methods that a script assigns to its objects', async () => {
    const text = 'const app = {}\napp.use = function use() {}\nexports.run = () => {}\n'
    await using ws = await bootKernel({ files: { 'a.js': text } })
    if (backend === 'tree-sitter') process.env['VTCODE_AST_GREP_BIN'] = join(ws.home, 'gone')
    const result: any = await ws.call('unified_search', { action: 'outline', path: 'a.js', view: 'names' })
    expect(result.output.files[0].groups).toEqual([
      { kind: 'constant', names: ['app'] },
      { kind: 'method', names: ['app.use'] },
      { kind: 'function', names: ['run'] },
    ])
  })
})
