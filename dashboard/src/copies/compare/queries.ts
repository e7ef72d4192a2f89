import { useInfiniteQuery, useQuery } from "@tanstack/react-query"
import { call } from "../../wire/call.ts"
import type { Wire } from "../../wire/Wire.ts"

export type BranchTable = Wire["GET /api/branches/:id/tables"]["success"][number]
export type DifferencePage = Wire["GET /api/branches/:id/differences"]["success"]
export type Difference = DifferencePage["rows"][number]
export type Kind = Difference["kind"]
export type Counts = Wire["GET /api/branches/:id/differences/count"]["success"]
export type CopyPayload = Wire["POST /api/branches/:id/copy-rows"]["payload"]
export type CopyResult = Wire["POST /api/branches/:id/copy-rows"]["success"]

/** The table of a branch that is compared. */
export interface ComparedName {
  readonly branch: number
  readonly schema: string
  readonly table: string
}

export const kinds: ReadonlyArray<Kind> = ["only_in_branch", "changed", "only_in_main"]
export const kindWords: Readonly<Record<Kind, string>> = {
  only_in_branch: "Only in the branch",
  changed: "Changed",
  only_in_main: "Only in main"
}

/** Everything that is read of a branch's rows. */
export const comparisonsOf = (branch: number) => ["comparison", branch] as const

export const useBranchTables = (branch: number) =>
  useQuery({
    queryKey: [...comparisonsOf(branch), "tables"],
    queryFn: ({ signal }) => call("GET /api/branches/:id/tables", { params: { id: branch }, signal })
  })

/** Counts to the end, however many requests that takes; the digests of the last cover all. */
const counted = async ({ branch, schema, table }: ComparedName, signal: AbortSignal): Promise<Counts> => {
  let sum: Counts | undefined
  do {
    const cursor = sum?.cursor
    const next: Counts = await call("GET /api/branches/:id/differences/count", {
      params: { id: branch },
      query: { schema, table, ...(cursor == null ? {} : { cursor }) },
      signal
    })
    const before = sum
    sum =
      before === undefined
        ? next
        : {
            ...next,
            same: before.same + next.same,
            ...Object.fromEntries(
              kinds.map((kind) => [kind, { ...next[kind], count: before[kind].count + next[kind].count }])
            )
          }
  } while (sum.cursor !== null)
  return sum
}

export const useCounts = (of: ComparedName, enabled = true) =>
  useQuery({
    queryKey: [...comparisonsOf(of.branch), "counts", of.schema, of.table],
    queryFn: ({ signal }) => counted(of, signal),
    enabled,
    retry: false
  })

export const useDifferences = ({ branch, schema, table }: ComparedName, kind: Kind | undefined) =>
  useInfiniteQuery({
    queryKey: [...comparisonsOf(branch), "rows", schema, table, kind],
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/branches/:id/differences", {
        params: { id: branch },
        query: {
          schema,
          table,
          limit: "100",
          ...(kind === undefined ? {} : { kinds: kind }),
          ...(pageParam === undefined ? {} : { cursor: pageParam })
        },
        signal
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ cursor }) => cursor ?? undefined,
    retry: false
  })
