import { useQuery } from "@tanstack/react-query"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

type Listing = Wire["GET /api/sql/fdw"]["success"]
export type Server = Listing["wrappers"][number]
export type ForeignTable = Listing["foreignTables"][number]

export const useForeign = () =>
  useQuery({ queryKey: ["foreign"], queryFn: ({ signal }) => call("GET /api/sql/fdw", { signal }) })
