/** Strictness under which every named leaf of a pattern has to stand in a match letter by letter. */
const literalStrictness = new Set(['cst', 'smart', 'ast', 'relaxed'])

/** Strictness under which what has no name in a tree, as operators have none, has to stand in a match too. */
const wholeStrictness = new Set(['cst', 'smart'])
/** Operators between spaces that are one token in every language that has them. */
const operator = /(?<=\s)(?:\?\?=?|===|!==|=>|&&=?|\*\*)(?=\s)/

/**
 * A word, or without one an operator, that the file of every match must hold, so that only files holding it need be parsed; `undefined` where
 * none is certain: a selector may leave the word out, a comment in the pattern need not match.
 */
export function requiredText(pattern: string | undefined, strictness = 'smart', selector?: string): string | undefined {
  if (
    pattern === undefined ||
    selector !== undefined ||
    !literalStrictness.has(strictness) ||
    /\/\/|\/\*|#|--|<!--/.test(pattern)
  )
    return undefined
  const words = pattern.replace(/\$+\w*/g, ' ').match(/[A-Za-z_]\w{2,}/g) ?? []
  // Keywords are leaves without a name, which a match may lack under some strictness.
  const [longest] = words.filter((word) => !keywords.has(word)).sort((a, b) => b.length - a.length)
  return longest ?? (wholeStrictness.has(strictness) ? operator.exec(pattern)?.[0] : undefined)
}

const keywords = new Set(
  (
    'abstract and any array async await begin bool break case catch char class const constexpr continue declare def default defer del delete do dyn ' +
    'each elif else elsif end enum except explicit export extends extern false final finally float fn for foreach from func function global goto guard if impl ' +
    'implements import in include inline instanceof int interface internal interface is lambda let long match mod module move mut mutable namespace new nil none ' +
    'None nonlocal not null object open operator or override package pass private protected pub public raise readonly record ref require rescue return sealed self short ' +
    'signed sizeof static struct super switch template then this throw throws trait true True False try type typedef typeof typename undef union unless unsafe unsigned ' +
    'until use using val var virtual void volatile when where while with yield'
  ).split(' '),
)
