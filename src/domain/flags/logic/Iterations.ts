import { isJsonObject } from "../../text/JsonObject.ts"
import { type Compiler, type FlagScope, type Rule, RuleError, type ScopedOperator, ofValues, refusal } from "./Scope.ts"
import { solved, solvingRule } from "./Solving.ts"
import { isList, isNumber, isTrue, kindOf, listOf, toNumber, toText } from "./Values.ts"

/** Whether a number, or a string with one, is within the range, including its ends. */
const isInRange = (value: unknown, range: ReadonlyArray<unknown>, scope: FlagScope): boolean => {
  if (range.length < 2) throw new RuleError("in: a list within the list needs two numbers")
  const number = toNumber(value, scope)
  return number >= toNumber(range[0], scope) && toNumber(range[1], scope) >= number
}

const isItem = (value: unknown, item: unknown, scope: FlagScope): boolean => {
  if (isList(item)) return isInRange(value, item, scope)
  if (isNumber(value)) return toNumber(item, scope) === value
  if (isJsonObject(value) && isJsonObject(item)) throw new RuleError("in: objects can't be compared")
  return (value ?? null) === (item ?? null)
}

/** Whether a string contains another, or a list contains a value. */
const contains = (values: unknown, scope: FlagScope): boolean => {
  const args = listOf(values, "in")
  if (args.length === 0) throw new RuleError("in needs a value and a list or a string to search")
  const [value, where] = args
  if (typeof where === "string") {
    if (typeof value !== "string") throw new RuleError("in: only a string can be searched for in a string")
    // The cost of a search may grow with the product of the lengths.
    scope.spend((where.length >> 2) + Math.floor((where.length * value.length) / 256))
    return where.includes(value)
  }
  if (!isList(where)) return false
  scope.spend(where.length)
  return where.some((item) => isItem(value, item, scope))
}

/** One list of all values, in which lists are replaced by their items. */
const merged = (values: unknown, scope: FlagScope): ReadonlyArray<unknown> => {
  if (!isList(values)) {
    if (values === null || isJsonObject(values))
      throw new RuleError(`merge needs lists or values, not ${kindOf(values)}`)
    return [values]
  }
  const all: Array<unknown> = []
  for (const value of values) {
    scope.spend(isList(value) ? value.length : 1)
    if (isList(value)) for (const item of value) all.push(item)
    else all.push(value)
  }
  return all
}

export const lists: Readonly<Record<string, ScopedOperator>> = { in: ofValues(contains), merge: ofValues(merged) }

/** Arguments as written, [list, rule of an item, …], and their depth. */
interface Written {
  readonly args: ReadonlyArray<unknown>
  readonly depth: number
  readonly compiler: Compiler
}

const iteration =
  (operator: string, compile: (written: Written) => Rule): ScopedOperator =>
  (args, depth, compiler) => {
    if (!isList(args)) return refusal(`the arguments of ${operator} must be written as a list`)
    const rule = compile({ args, depth: depth + 1, compiler })
    return (scope) => {
      scope.spend(8)
      return rule(scope)
    }
  }

/** The list to iterate: as written, or the result of an operator; null for anything else. */
const subjectOf = ({ args, depth, compiler }: Written): Rule => {
  const [subject = null] = args
  if (isList(subject)) return () => subject
  return isJsonObject(subject) ? compiler.part(subject, depth).run : () => null
}

/** The value of a rule with the item as its context. */
const within = (rule: Rule, item: unknown, scope: FlagScope): unknown => {
  const { data, outer } = scope
  scope.spend(1)
  scope.outer = data
  scope.data = item ?? null
  const value = rule(scope)
  scope.data = data
  scope.outer = outer
  return value
}

const mapped = iteration("map", (written) => {
  if (written.args.length < 2) return () => []
  const subject = subjectOf(written)
  const rule = written.compiler.part(written.args[1], written.depth).run
  return (scope) => {
    const items = subject(scope)
    return items === null ? [] : listOf(items, "map").map((item) => within(rule, item, scope))
  }
})

const filtered = iteration("filter", (written) => {
  const { args, depth, compiler } = written
  if (args.length < 2) return () => []
  const subject = subjectOf(written)
  const compiled = solvingRule(args[1], depth, compiler, "outer")
  return (scope) => {
    const list = subject(scope)
    if (list === null) return []
    const items = listOf(list, "filter")
    const rule = compiled ?? compiler.dynamic(solved(args[1], depth, compiler, scope), depth, scope)
    return items.filter((item) => isTrue(within(rule, item, scope), scope))
  }
})

/** The rule of `all`, `some`, `none` and `reduce` must be an object once its variables are solved. */
const operation = (logic: unknown, compile: (logic: unknown) => Rule): Rule =>
  isJsonObject(logic) ? compile(logic) : refusal(`the rule of an item must be an object, not ${kindOf(logic)}`)

/** The items of `all`, `some` and `none`; a false value has none. */
const itemsOf = (operator: string, subject: Rule, written: Written, scope: FlagScope): ReadonlyArray<unknown> => {
  if (written.args.length === 0) throw new RuleError(`${operator} needs a list and a rule`)
  const list = subject(scope)
  if (!isTrue(list, scope)) return []
  if (written.args.length < 2) throw new RuleError(`${operator} needs a rule`)
  return listOf(list, operator)
}

/** The rule of an item, with the variables in `logic` solved by the current data. */
const solvedRule = (logic: unknown, { depth, compiler }: Written, scope: FlagScope): Rule =>
  operation(solved(logic, depth, compiler, scope), (rule) => compiler.dynamic(rule, depth, scope))

const all = iteration("all", (written) => {
  const subject = subjectOf(written)
  const { args, depth, compiler } = written
  const rule: Rule =
    solvingRule(args[1], depth, compiler, "item") ?? ((scope) => solvedRule(args[1], written, scope)(scope))
  return (scope) => {
    const items = itemsOf("all", subject, written, scope)
    return items.length > 0 && items.every((item) => isTrue(within(rule, item, scope), scope))
  }
})

const some = iteration("some", (written) => {
  const { args, depth, compiler } = written
  const subject = subjectOf(written)
  const compiled = solvingRule(args[1], depth, compiler, "both")
  const solvedOuter = (scope: FlagScope): Rule => {
    const logic = solved(args[1], depth, compiler, scope)
    return (inner) => solvedRule(logic, written, inner)(inner)
  }
  return (scope) => {
    const items = itemsOf("some", subject, written, scope)
    if (items.length === 0) return false
    const rule = compiled ?? solvedOuter(scope)
    return items.some((item) => isTrue(within(rule, item, scope), scope))
  }
})

const none = iteration("none", (written) => {
  const { args, depth, compiler } = written
  const subject = subjectOf(written)
  const compiled = solvingRule(args[1], depth, compiler, "outer")
  return (scope) => {
    const items = itemsOf("none", subject, written, scope)
    if (items.length === 0) return true
    const rule = compiled ?? solvedRule(args[1], written, scope)
    return !items.some((item) => isTrue(within(rule, item, scope), scope))
  }
})

/** The accumulator keeps the type of the initial value. */
const accumulation = (initial: unknown): ((value: unknown, scope: FlagScope) => unknown) => {
  if (typeof initial === "boolean") return isTrue
  if (isNumber(initial)) return toNumber
  if (typeof initial === "string") return toText
  throw new RuleError(`reduce can't start with ${kindOf(initial)}`)
}

const typeNames: Readonly<Record<string, string>> = { boolean: "bool", string: "string" }

const reduced = iteration("reduce", (written) => {
  const { args, depth, compiler } = written
  if (args.length < 3) return () => 0
  const subject = subjectOf(written)
  const start = isJsonObject(args[2]) ? compiler.part(args[2], depth).run : () => args[2]
  const rule = operation(args[1], (logic) => compiler.part(logic, depth).run)
  return (scope) => {
    const initial = start(scope)
    const accumulate = accumulation(initial)
    const state = {
      current: 0 as unknown,
      accumulator: accumulate(initial, scope),
      valueType: typeNames[typeof initial] ?? "number"
    }
    const items = subject(scope)
    if (items === null) return 0
    for (const item of listOf(items, "reduce")) {
      if (item === null) continue
      state.current = item
      state.accumulator = accumulate(within(rule, state, scope), scope)
    }
    return state.accumulator
  }
})

export const iterations: Readonly<Record<string, ScopedOperator>> = {
  map: mapped,
  filter: filtered,
  reduce: reduced,
  all,
  some,
  none
}
