import { comparisons, conditions } from "./Conditions.ts"
import { iterations, lists } from "./Iterations.ts"
import { numbers } from "./Numbers.ts"
import { texts } from "./Texts.ts"
import { variables } from "./Variables.ts"
import {
  type Compiler,
  type FlagScope,
  type ScopedOperator,
  type RulePart,
  type Rule,
  refusal,
  ruleDepth
} from "./Scope.ts"
import { isList } from "./Values.ts"
import { isJsonObject, type JsonObject } from "../../text/JsonObject.ts"

// JsonLogic as flagd 0.16 evaluates it. An object with one property is an operator and its arguments; any other object
// is data, including its content.

const operators: ReadonlyMap<string, ScopedOperator> = new Map(
  Object.entries({ ...comparisons, ...conditions, ...iterations, ...lists, ...numbers, ...texts, ...variables })
)

const literal = (value: unknown): RulePart => ({ run: () => value, literal: true })

const isPlain = (value: unknown): boolean => typeof value !== "object" || value === null

class RuleCompiler implements Compiler {
  /** The evaluation from whose context the rule came, if any: compiling it counts as work of that evaluation. */
  private readonly scope: FlagScope | undefined
  private readonly variable: ScopedOperator | undefined

  constructor(scope?: FlagScope, variable?: ScopedOperator) {
    this.scope = scope
    this.variable = variable
  }

  part(written: unknown, depth: number): RulePart {
    if (isList(written)) return this.list(written, depth)
    return isJsonObject(written) ? this.operation(written, depth) : literal(written ?? null)
  }

  dynamic(value: unknown, depth: number, scope: FlagScope): Rule {
    return new RuleCompiler(scope).part(value, depth).run
  }

  withVariable(variable: ScopedOperator): Compiler {
    return new RuleCompiler(this.scope, variable)
  }

  private list(written: ReadonlyArray<unknown>, depth: number): RulePart {
    this.scope?.spend(4 * written.length)
    if (written.every(isPlain)) return literal(written)
    if (depth > ruleDepth) return tooDeep
    const parts = written.map((part) => this.part(part, depth + 1))
    if (parts.every((part) => part.literal)) return literal(written)
    const rules = parts.map((part) => part.run)
    const run: Rule = (scope) => {
      scope.spend(rules.length)
      const values: Array<unknown> = []
      for (const rule of rules) values.push(rule(scope))
      return values
    }
    return { run, literal: false }
  }

  private operation(written: JsonObject, depth: number): RulePart {
    const names = Object.keys(written)
    this.scope?.spend(16 * names.length + 32)
    const [name] = names
    if (name === undefined || names.length > 1) return literal(written)
    if (depth > ruleDepth) return tooDeep
    const operator = name === "var" ? (this.variable ?? operators.get(name)) : operators.get(name)
    return { run: operator?.(written[name], depth + 1, this) ?? unknownOperator(name), literal: false }
  }
}

const tooDeep: RulePart = { run: refusal(`the rule is nested more than ${ruleDepth} levels deep`), literal: false }

const unknownOperator = (name: string): Rule => refusal(`unknown operator ${JSON.stringify(name.slice(0, 40))}`)

/** Never throws. An invalid part throws a RuleError when it is evaluated. */
export const compileRule = (rule: unknown): Rule => new RuleCompiler().part(rule, 1).run
