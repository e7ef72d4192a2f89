import { type FlagContext } from "../../../src/domain/flags/Evaluation.ts"
import { type Definition, onOff } from "../../support/flags/servers.ts"

export const texts = (targeting: unknown, over: Partial<Definition> = {}): Definition => ({
  state: "ENABLED",
  variants: { free: "f", pro: "p", "1": "one", "1.5": "three halves", null: "nothing" },
  defaultVariant: "free",
  targeting,
  ...over
})

export const failure = (errorCode: string) => ({ reason: "ERROR", errorCode, details: true })
export const value = (reason: string, variant: string, value: unknown) => ({ reason, variant, value })

/** Definition, context and expected result of one flag each, without key and metadata. */
export const outcomes: Readonly<Record<string, readonly [Definition, FlagContext, object]>> = {
  disabled: [onOff({ state: "DISABLED" }), {}, { reason: "DISABLED" }],
  "disabled-broken": [onOff({ state: "DISABLED", targeting: { no_such: [1] } }), {}, { reason: "DISABLED" }],
  true: [onOff(), {}, value("STATIC", "on", true)],
  false: [onOff({ defaultVariant: "off" }), {}, value("STATIC", "off", false)],
  "empty-text": [onOff({ variants: { on: "", off: "x" } }), {}, value("STATIC", "on", "")],
  text: [onOff({ variants: { on: 'é🎉 <&>"\\', off: "" } }), {}, value("STATIC", "on", 'é🎉 <&>"\\')],
  zero: [onOff({ variants: { on: 0, off: 1 } }), {}, value("STATIC", "on", 0)],
  fraction: [onOff({ variants: { on: -0.1, off: 1 } }), {}, value("STATIC", "on", -0.1)],
  large: [onOff({ variants: { on: 9007199254740991, off: 1 } }), {}, value("STATIC", "on", 9007199254740991)],
  object: [
    onOff({ variants: { on: { b: [1, { c: null }], a: "", "": {} }, off: {} } }),
    {},
    value("STATIC", "on", { b: [1, { c: null }], a: "", "": {} })
  ],
  "empty-object": [onOff({ variants: { on: {}, off: { a: 1 } } }), {}, value("STATIC", "on", {})],
  matched: [
    texts({ if: [{ "==": [{ var: "plan" }, "pro"] }, "pro", null] }),
    { plan: "pro" },
    value("TARGETING_MATCH", "pro", "p")
  ],
  unmatched: [texts({ if: [{ "==": [{ var: "plan" }, "pro"] }, "pro", null] }), {}, value("DEFAULT", "free", "f")],
  "named-default": [texts({ if: [true, "free"] }), {}, value("TARGETING_MATCH", "free", "f")],
  "text-null": [texts({ if: [true, "null"] }), {}, value("TARGETING_MATCH", "null", "nothing")],
  "number-1": [texts({ "+": [{ var: "n" }, 0] }), { n: 1 }, value("TARGETING_MATCH", "1", "one")],
  "number-1.5": [texts({ "+": [{ var: "n" }, 0] }), { n: 1.5 }, value("TARGETING_MATCH", "1.5", "three halves")],
  "boolean-true": [
    onOff({ variants: { true: 1, false: 0 }, defaultVariant: "false", targeting: { "==": [{ var: "a" }, 1] } }),
    { a: 1 },
    value("TARGETING_MATCH", "true", 1)
  ],
  "boolean-unnamed": [onOff({ targeting: { "==": [1, 2] } }), {}, failure("GENERAL")],
  "no-variant": [texts({ var: "plan" }), { plan: "gold" }, failure("GENERAL")],
  "no-operator": [texts({ no_such: [1, 2] }), {}, failure("PARSE_ERROR")],
  "untaken-operator": [texts({ if: [true, "pro", { no_such: [] }] }), {}, value("TARGETING_MATCH", "pro", "p")],
  "own-key": [
    texts({ if: [{ "==": [{ var: "$flagd.flagKey" }, "own-key"] }, "pro"] }),
    { $flagd: { flagKey: "x" } },
    value("TARGETING_MATCH", "pro", "p")
  ],
  timestamp: [
    texts({ if: [{ "<": [1_600_000_000, { var: "$flagd.timestamp" }, 9_000_000_000] }, "pro"] }),
    {},
    value("TARGETING_MATCH", "pro", "p")
  ],
  version: [
    texts({ if: [{ sem_ver: [{ var: "v" }, "^", "1.2.0"] }, "pro", "free"] }),
    { v: "1.9.3" },
    value("TARGETING_MATCH", "pro", "p")
  ],
  prefix: [
    texts({ if: [{ starts_with: [{ var: "mail" }, "é"] }, "pro", "free"] }),
    { mail: "éa@b" },
    value("TARGETING_MATCH", "pro", "p")
  ],
  // The hashes of these keys are at the ends of the range (murmur3: 0, 2^31-1, 2^31, 2^32-1).
  "fractional-0": [
    texts({ fractional: [{ var: "k" }, ["free", 50], ["pro", 50]] }),
    { k: "ejOoVL" },
    value("TARGETING_MATCH", "free", "f")
  ],
  "fractional-low": [
    texts({ fractional: [{ var: "k" }, ["free", 50], ["pro", 50]] }),
    { k: "SI7p-" },
    value("TARGETING_MATCH", "free", "f")
  ],
  "fractional-high": [
    texts({ fractional: [{ var: "k" }, ["free", 50], ["pro", 50]] }),
    { k: "6LvT0" },
    value("TARGETING_MATCH", "pro", "p")
  ],
  "fractional-end": [
    texts({ fractional: [{ var: "k" }, ["free", 50], ["pro", 50]] }),
    { k: "ceQdGm" },
    value("TARGETING_MATCH", "pro", "p")
  ],
  "fractional-nobody": [texts({ fractional: [["pro", 100]] }), {}, value("DEFAULT", "free", "f")],
  "fractional-user": [
    texts({ fractional: [["pro", 100]] }),
    { targetingKey: "u1" },
    value("TARGETING_MATCH", "pro", "p")
  ]
}
