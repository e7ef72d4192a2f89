import { type Compiler, type ScopedOperator, type Rule, refusal } from "./Scope.ts"
import { isList, isTrue } from "./Values.ts"
import { isJsonObject } from "../../text/JsonObject.ts"

const needsList = (operator: string): Rule => refusal(`the arguments of ${operator} must be written as a list`)

/** The first value whose truth is `decisive`, or else the last value. */
const firstWhere =
  (operator: string, decisive: boolean): ScopedOperator =>
  (written, depth, compiler) => {
    if (!isList(written)) return needsList(operator)
    const rules = written.map((part) => compiler.part(part, depth + 1).run)
    return (scope) => {
      scope.spend(8)
      let last: unknown = null
      for (const rule of rules) {
        last = rule(scope)
        if (isTrue(last, scope) === decisive) return last
      }
      return last
    }
  }

/** A branch of `if`. If its value is an object, that is evaluated again. */
const branch = (written: unknown, depth: number, compiler: Compiler): Rule => {
  const part = compiler.part(written, depth)
  if (part.literal) return part.run
  return (scope) => {
    const value = part.run(scope)
    return isJsonObject(value) ? compiler.dynamic(value, depth + 1, scope)(scope) : value
  }
}

const conditional: ScopedOperator = (written, depth, compiler) => {
  if (!isList(written)) return needsList("if")
  const pairs: Array<{ readonly condition: Rule; readonly outcome: Rule }> = []
  for (let i = 0; i < written.length - 1; i += 2) {
    pairs.push({
      condition: compiler.part(written[i], depth + 1).run,
      outcome: branch(written[i + 1], depth + 1, compiler)
    })
  }
  const fallback = written.length % 2 === 1 ? branch(written[written.length - 1], depth + 1, compiler) : () => null
  return (scope) => {
    scope.spend(8)
    for (const pair of pairs) if (isTrue(pair.condition(scope), scope)) return pair.outcome(scope)
    return fallback(scope)
  }
}

export const conditions: Readonly<Record<string, ScopedOperator>> = {
  if: conditional,
  and: firstWhere("and", false),
  or: firstWhere("or", true)
}
