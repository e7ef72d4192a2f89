import { queryOptions, useQuery } from "@tanstack/react-query"
import { ApiError } from "../wire/ApiError.ts"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

export type Flag = Wire["GET /api/flags/:key"]["success"]
export type Segment = Wire["GET /api/flags/segments"]["success"][number]
export type HistoryEntry = Wire["GET /api/flags/:key/history"]["success"][number]
export type Environment = Flag["environment"]
export type JsonObject = Readonly<Record<string, unknown>>

export const environments: ReadonlyArray<Environment> = ["dev", "staging", "production"]

export const environmentOf = (text: unknown): Environment | undefined => environments.find((name) => name === text)

export const flagQuery = (key: string) =>
  queryOptions({
    queryKey: ["flag", key],
    queryFn: ({ signal }) => call("GET /api/flags/:key", { params: { key }, signal })
  })

export const useFlags = () =>
  useQuery({ queryKey: ["flags"], queryFn: ({ signal }) => call("GET /api/flags/", { signal }) })

export const useSegments = () =>
  useQuery({ queryKey: ["segments"], queryFn: ({ signal }) => call("GET /api/flags/segments", { signal }) })

/** The record must still have this revision. */
export const ifMatch = (revision: number) => ({ "if-match": `"${revision}"` })

/** Whether another user has changed the record since it was read. */
export const isOutdated = (error: unknown) => error instanceof ApiError && error.status === 412
