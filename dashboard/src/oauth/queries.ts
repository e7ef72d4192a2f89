import { useInfiniteQuery, useQuery } from "@tanstack/react-query"
import { ApiError } from "../wire/ApiError.ts"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

export type Client = Wire["GET /api/oauth2/clients/:id"]["success"]
export type Claims = Wire["GET /api/oauth2/claims-config"]["success"]

export const useClients = () =>
  useInfiniteQuery({
    queryKey: ["oauth2", "clients"],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/oauth2/clients", { query: pageParam === "" ? {} : { page_token: pageParam }, signal }),
    getNextPageParam: ({ next_page_token }) => next_page_token
  })

export const useClient = (id: string) =>
  useQuery({
    queryKey: ["oauth2", "client", id],
    queryFn: ({ signal }) => call("GET /api/oauth2/clients/:id", { params: { id }, signal })
  })

export const useBridge = () =>
  useQuery({
    queryKey: ["oauth2", "bridge"],
    queryFn: ({ signal }) => call("GET /api/oauth2/bridge/status", { signal })
  })

export const useClaims = () =>
  useQuery({
    queryKey: ["oauth2", "claims"],
    queryFn: ({ signal }) => call("GET /api/oauth2/claims-config", { signal })
  })

/** Whether nothing is wrong but that the service has no OAuth 2.0 server. */
export const isUnconfigured = (error: unknown) =>
  error instanceof ApiError && error.body.code.endsWith("NOT_CONFIGURED")

export const nameOf = ({ client_id, client_name }: Pick<Client, "client_id" | "client_name">) =>
  client_name === "" ? client_id : client_name

/** How a client identifies itself, in words. */
export const kindOf = ({ grant_types, token_endpoint_auth_method }: Client) =>
  token_endpoint_auth_method === "none"
    ? "app without a server"
    : grant_types.includes("authorization_code")
      ? "web app with a server"
      : grant_types.includes("client_credentials")
        ? "machine"
        : "other"

/** Of clients without a secret. */
export const hasSecret = ({ token_endpoint_auth_method }: Client) =>
  token_endpoint_auth_method.startsWith("client_secret")

export const skipsConsent = ({ metadata, skip_consent }: Client) => skip_consent || metadata["skip_consent"] === true
