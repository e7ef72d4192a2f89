/**
 * A rule that can't be evaluated: PARSE_ERROR of the flag. The message contains no value of the context. Not an Error,
 * because the stack of the program does not explain an invalid rule, and capturing it costs more than the evaluation.
 */
export class RuleError {
  readonly message: string

  constructor(message: string) {
    this.message = message
  }
}

/**
 * Maximum work of one evaluation, some 20 ms. An operator costs 8, an item that is read or created 1, a string that is
 * created its length, one that is read a part of it, and a rule from the context more. Rules without lists of thousands
 * of items cost less than 1,000.
 */
const workLimit = 1_000_000

/** Maximum levels of lists and objects in a rule, and of rules from the context. */
export const ruleDepth = 500

/** Versions of the hash that `fractional` distributes users by. */
export const flagHashings = ["v2", "v3"] as const
export type FlagHashing = (typeof flagHashings)[number]

/** The state of one evaluation. */
export class FlagScope {
  /** The data that `var` reads: the context, or the current item in `map` and similar operators. */
  data: unknown
  /** The data outside of the current item. */
  outer: unknown = null
  readonly hashing: FlagHashing
  private left = workLimit

  constructor(data: unknown, hashing: FlagHashing) {
    this.data = data
    this.hashing = hashing
  }

  /** Counts work, and throws RuleError beyond the limit. */
  spend(work: number): void {
    this.left -= work
    if (this.left < 0) throw new RuleError("the rule exceeds the limit of work on this context")
  }
}

/** A compiled part of a rule. Throws RuleError. */
export type Rule = (scope: FlagScope) => unknown

/** A compiled part of a rule. `literal`: its value is the part as written, for every context. */
export interface RulePart {
  readonly run: Rule
  readonly literal: boolean
}

/** Compiles the arguments of operators. */
export interface Compiler {
  /** `depth` is that of the part. Throws RuleError only if the part comes from a context and costs too much. */
  readonly part: (written: unknown, depth: number) => RulePart
  /** Compiles a value from the context, which flagd evaluates as a part of the rule in some places. */
  readonly dynamic: (value: unknown, depth: number, scope: FlagScope) => Rule
  /** A compiler with another implementation of `var`. */
  readonly withVariable: (variable: ScopedOperator) => Compiler
}

/** Compiles one operator. `written` are its arguments as written, and `depth` is their depth. */
export type ScopedOperator = (written: unknown, depth: number, compiler: Compiler) => Rule

/** An operator that evaluates its arguments first: to a list of values if they are written as a list. */
export const ofValues =
  (evaluate: (values: unknown, scope: FlagScope) => unknown): ScopedOperator =>
  (written, depth, compiler) => {
    const values = compiler.part(written, depth).run
    return (scope) => {
      scope.spend(8)
      return evaluate(values(scope), scope)
    }
  }

/** A part that throws when it is evaluated, which never happens in an unused branch. */
export const refusal =
  (why: string): Rule =>
  () => {
    throw new RuleError(why)
  }
