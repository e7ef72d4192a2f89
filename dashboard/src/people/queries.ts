import { useInfiniteQuery, useQuery } from "@tanstack/react-query"
import { codeOf } from "../wire/ApiError.ts"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

export type Person = Wire["GET /api/identities/:id"]["success"]
export type Listed = Wire["GET /api/identities"]["success"]["identities"][number]
export type Mail = Wire["GET /api/mails"]["success"]["mails"][number]
export type FactorKind = Wire["DELETE /api/identities/:id/factors/:kind"]["params"]["kind"]

/** What is possible here; fails where the service keeps no accounts itself. */
export const useMethods = () =>
  useQuery({
    queryKey: ["people", "methods"],
    queryFn: ({ signal }) => call("GET /api/auth/methods", { signal }),
    retry: false
  })

/** All people, or those with a part of an address. */
export const usePeople = (address: string, enabled: boolean) =>
  useInfiniteQuery({
    queryKey: ["people", "list", address],
    enabled,
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/identities", {
        query: {
          ...(address === "" ? {} : { contains: address }),
          ...(pageParam === "" ? {} : { page_token: pageParam })
        },
        signal
      }),
    getNextPageParam: ({ next_page_token }) => next_page_token
  })

export const usePerson = (id: string) =>
  useQuery({
    queryKey: ["people", "one", id],
    queryFn: ({ signal }) => call("GET /api/identities/:id", { params: { id }, signal }),
    retry: false
  })

export const useMails = (recipient: string, enabled: boolean) =>
  useInfiniteQuery({
    queryKey: ["mails", recipient],
    enabled,
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/mails", {
        query: { ...(recipient === "" ? {} : { recipient }), ...(pageParam === 0 ? {} : { before: pageParam }) },
        signal
      }),
    getNextPageParam: ({ next }) => next,
    // A message that waits is delivered meanwhile.
    refetchInterval: 5000
  })

/** Whether nothing is wrong but that another server keeps the accounts, or none. */
export const isElsewhere = (error: unknown) => {
  const code = codeOf(error)
  return code === "USE_IDP" || code === "NOT_CONFIGURED"
}

/** What a person is called by: the address of the account, else its id. */
export const nameOf = ({ addresses, id, traits }: Pick<Person, "addresses" | "id" | "traits">) => {
  const { email } = traits as Readonly<Record<string, unknown>>
  return (typeof email === "string" && email !== "" ? email : addresses[0]?.value) ?? id
}
