import { type FlagEnvironment } from "../Environment.ts"
import { type FlagRows } from "./Snapshot.ts"

/** A line of `flagRowsSql`; which columns it fills depends on its kind. */
export interface StoredLine {
  readonly kind: "head" | "environment" | "flag" | "segment" | "flags" | "segments"
  readonly key: string | null
  readonly a: string | null
  readonly b: string | null
  readonly c: string | null
  readonly d: string | null
}

/**
 * Everything that is newer than revision `$1`, and with `keys` the keys of all that there are: one statement, so that all
 * of it is of one moment.
 */
export const flagRowsSql = (keys: boolean) =>
  [
    `select 'head' as kind, null as key, revision::text as a, deleted::text as b, null as c, null as d
       from svc.flag_revision`,
    "select 'environment', name, revision::text, null, null, null from svc.flag_environments",
    "select 'segment', key, rules::text, null, null, null from svc.flag_segments where revision > $1::int8",
    `select 'flag', key, variants::text, dev::text, staging::text, production::text
       from svc.flags where revision > $1::int8`,
    ...(keys
      ? [
          "select 'flags', null, string_agg(key, ','), null, null, null from svc.flags",
          "select 'segments', null, string_agg(key, ','), null, null, null from svc.flag_segments"
        ]
      : [])
  ].join(" union all ")

/** Keys have no comma (domain/Flag.ts). */
const keysOf = (line: StoredLine | undefined) =>
  line === undefined ? undefined : (line.a ?? "").split(",").filter(Boolean)

export const flagRowsOf = (lines: ReadonlyArray<StoredLine>): FlagRows => {
  const of = (kind: StoredLine["kind"]) => lines.filter((line) => line.kind === kind)
  const head = of("head")[0]
  const revisions: Record<FlagEnvironment, number> = { dev: 0, staging: 0, production: 0 }
  for (const { a, key } of of("environment")) revisions[key as FlagEnvironment] = Number(a)
  return {
    revision: Number(head?.a),
    deleted: Number(head?.b),
    revisions,
    flags: of("flag").map(({ a, b, c, d, key }) => ({
      key: key ?? "",
      variants: a ?? "{}",
      environments: { dev: b ?? "", staging: c ?? "", production: d ?? "" }
    })),
    segments: of("segment").map(({ a, key }) => ({ key: key ?? "", rules: a ?? "{}" })),
    flagKeys: keysOf(of("flags")[0]),
    segmentKeys: keysOf(of("segments")[0])
  }
}
