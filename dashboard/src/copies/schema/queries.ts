import { useQuery } from "@tanstack/react-query"
import { call } from "../../wire/call.ts"
import type { Wire } from "../../wire/Wire.ts"

export type SchemaDifference = Wire["GET /api/branches/:id/schema-changes"]["success"]
export type Target = SchemaDifference["to"]

export const schemaChangesOf = (branch: number) => ["schema-changes", branch] as const

/** Read again only when it is asked for: what is reviewed must stay as it is. */
export const useSchemaChanges = (branch: number, to: Target) =>
  useQuery({
    queryKey: [...schemaChangesOf(branch), to],
    queryFn: ({ signal }) =>
      call("GET /api/branches/:id/schema-changes", { params: { id: branch }, query: { to }, signal }),
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    retry: false
  })
