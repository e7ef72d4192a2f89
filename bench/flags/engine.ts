/** The engine alone: µs of one evaluation, and the shares of rollouts. */
import { CompiledFlag, FlagSet } from "../../src/domain/flags/sets/Set.ts"
import { bucketing, context, onOff, rules, tiers } from "./rules.ts"
import { now } from "../support/clock.ts"
import { type Service } from "../support/service.ts"
import { median, printTable, whole } from "../rows/table.ts"

const setOf = (targeting: unknown, variants: Record<string, unknown> = onOff) => {
  const defaultVariant = Object.keys(variants)[0] ?? ""
  const flag = new CompiledFlag({ key: "flag", state: "ENABLED", variants, defaultVariant, targeting }, "v2")
  return new FlagSet("production", 1, new Map([["flag", flag]]))
}

/** µs of one evaluation, the median of several rounds. `key` varies, as in production. */
const cost = (set: FlagSet, count: number) => {
  const contexts = Array.from({ length: 1_000 }, (_, n) => ({
    ...context,
    targetingKey: `${context.targetingKey}${n}`
  }))
  const turns: Array<number> = []
  for (let turn = -2; turn < 7; turn++) {
    const began = now()
    for (let n = 0; n < count; n++) set.evaluate("flag", contexts[n % 1_000] ?? context, 1_700_000_000_000)
    if (turn >= 0) turns.push(((now() - began) * 1_000) / count)
  }
  return median(turns)
}

const targets: Readonly<Record<string, string>> = { static: "2", targeting: "5", fractional: "5" }
const wanted = { a: 0.1, b: 0.2, c: 0.7 }

/** The shares of 100,000 keys, each of which is evaluated twice. */
const spread = () => {
  const set = setOf({ fractional: [bucketing, ["a", 10], ["b", 20], ["c", 70]] }, tiers)
  const count = 100_000
  const variantOf = (n: number) => {
    const result = set.evaluate("flag", { targetingKey: `user-${n}` }, 0)
    return "variant" in result ? result.variant : undefined
  }
  const first = Array.from({ length: count }, (_, n) => variantOf(n))
  const same = first.every((variant, n) => variant === variantOf(n))
  const share = (name: string) => first.filter((variant) => variant === name).length / count
  return { same, shares: Object.keys(wanted).map((name) => [name, share(name)] as const) }
}

export const measureEngine = async (_: Service, quick: boolean) => {
  const rows = Object.entries(rules).map(([name, rule]) => [
    name,
    cost(setOf(rule), quick ? 50_000 : 500_000).toFixed(2),
    targets[name] ?? ""
  ])
  console.log("\na: one evaluation in the engine\n")
  printTable(["rule", "µs", "target under"], rows, 1)
  const { same, shares } = spread()
  const parts = shares.map(([name, share]) => `${name} ${(100 * share).toFixed(2)} %`)
  console.log(
    `\n${whole(100_000)} keys over 10/20/70: ${parts.join(", ")}; same result when repeated: ${same ? "yes" : "NO"}`
  )
  return same && shares.every(([name, share]) => Math.abs(share - wanted[name as keyof typeof wanted]) < 0.01)
}
