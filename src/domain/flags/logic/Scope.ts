/**
 * A rule that can't be evaluated: PARSE_ERROR of the flag. The message tells why, and carries no value of the context.
 * Not an Error, because the rule is wrong and not the program: nobody needs the stack, and taking it costs more than
 * the evaluation.
 */
export class RuleError {
  readonly message: string

  constructor(message: string) {
    this.message = message
  }
}

/**
 * What one evaluation may cost: an operator costs 8, an item that is looked at or made 1, a text that is made its
 * length and one that is read a part of it, a rule out of the context more. Some 20 ms of work at the most; rules
 * without lists of thousands of items need below 1,000.
 */
const workLimit = 1_000_000

/** Levels of lists and objects in a rule, and of rules that come out of the context when a rule is evaluated. */
export const ruleDepth = 500

/** Versions of the hash that `fractional` distributes users by. */
export const flagHashings = ["v2", "v3"] as const
export type FlagHashing = (typeof flagHashings)[number]

/** One evaluation under way. */
export class FlagScope {
  /** What `var` reads: the context, and within `map` and the like the item. */
  data: unknown
  /** What `data` was before the item that `filter`, `some` or `none` look at. */
  outer: unknown = null
  readonly hashing: FlagHashing
  private left = workLimit

  constructor(data: unknown, hashing: FlagHashing) {
    this.data = data
    this.hashing = hashing
  }

  /** Ends an evaluation that does not end in time otherwise. */
  spend(work: number): void {
    this.left -= work
    if (this.left < 0) throw new RuleError("the rule needs too much work on this context")
  }
}

/** A compiled part of a rule. Throws RuleError. */
export type Rule = (scope: FlagScope) => unknown

/** A part of a rule: what it gives, and whether that is the part itself whatever the context. */
export interface Part {
  readonly run: Rule
  readonly literal: boolean
}

/** What operators are compiled with. */
export interface Compiler {
  /** `depth` is that of the part. Never throws, unless the part came out of a context and costs too much. */
  readonly part: (written: unknown, depth: number) => Part
  /** Compiles a value that came out of the context: flagd evaluates it as a part of the rule in some places. */
  readonly dynamic: (value: unknown, depth: number, scope: FlagScope) => Rule
  /** The same with another meaning of `var`. */
  readonly withVariable: (variable: Operator) => Compiler
}

/** Compiles one operator: `written` are its arguments as written, `depth` is theirs. */
export type Operator = (written: unknown, depth: number, compiler: Compiler) => Rule

/** An operator that evaluates all its arguments first: a list of values, when they were written as one. */
export const ofValues =
  (evaluate: (values: unknown, scope: FlagScope) => unknown): Operator =>
  (written, depth, compiler) => {
    const values = compiler.part(written, depth).run
    return (scope) => {
      scope.spend(8)
      return evaluate(values(scope), scope)
    }
  }

/** A part that can't be evaluated. Nothing is wrong until it is: it may be in a branch that is never taken. */
export const refusal =
  (why: string): Rule =>
  () => {
    throw new RuleError(why)
  }
