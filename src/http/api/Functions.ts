import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  GatewayTimeout,
  InvalidRequest,
  NotFound,
  BadGateway,
  NotImplemented,
  PayloadTooLarge,
  Unavailable,
  Unprocessable
} from "../../domain/errors.ts"
import {
  Deployment,
  FunctionLogLine,
  FunctionName,
  FunctionOverview,
  FunctionRecord,
  FunctionSecret,
  FunctionTrial,
  FunctionTrialResult,
  FunctionVersion,
  SecretName,
  SecretValue,
  SourceFiles
} from "../../domain/functions/Function.ts"
import { Management } from "../access/Access.ts"
import { Success, tarType, Utf8Bodies } from "../wire/Body.ts"

const params = { name: FunctionName }
const LogId = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** Functions, their versions, secrets and logs (docs/functions.md). */
export class FunctionsApi extends HttpApiGroup.make("functions")
  .add(
    HttpApiEndpoint.get("list", "/", { success: Schema.Array(FunctionOverview), error: Unavailable }).annotateMerge(
      OpenApi.annotations({
        summary: "List functions, with the version that is called, their state, calls and errors",
        description:
          "Those of the folder have `source` `folder` and version 0. Calls are counted since the service has started, on the machine that answers."
      })
    ),
    HttpApiEndpoint.get("secrets", "/secrets", {
      success: Schema.Array(FunctionSecret),
      error: Unavailable
    }).annotateMerge(OpenApi.annotations({ summary: "List the names of secrets" })),
    HttpApiEndpoint.put("setSecrets", "/secrets", {
      payload: Schema.Record(SecretName, SecretValue),
      success: Schema.Array(FunctionSecret),
      error: [InvalidRequest, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Set secrets, which are variables of the environment of all functions",
        description: "They are stored encrypted and never returned. Others keep their values."
      })
    ),
    HttpApiEndpoint.delete("removeSecret", "/secrets/:secret", {
      params: { secret: Schema.String },
      success: Success,
      error: [NotFound, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Delete a secret" })),
    HttpApiEndpoint.get("find", "/:name", {
      params,
      success: FunctionRecord,
      error: [NotFound, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Show a function" })),
    HttpApiEndpoint.put("deploy", "/:name", {
      params,
      query: {
        entrypoint: Deployment.fields.entrypoint,
        verify_jwt: Schema.optionalKey(Schema.Literals(["true", "false"]))
      },
      payload: [Deployment, Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: tarType }))],
      success: FunctionRecord.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, Unprocessable, NotImplemented, Unavailable, GatewayTimeout]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Deploy a version of a function",
        description:
          '`files` maps paths to texts, or to `{"base64": …}`. The entrypoint is `index.ts`, or `{name}/index.ts` if there is one. Or a tar archive of the files, plain or compressed by gzip, with `entrypoint` and `verify_jwt` in the query. Imports are fetched and locked now; from the response on the version is called.'
      })
    ),
    HttpApiEndpoint.delete("remove", "/:name", {
      params,
      success: Success,
      error: [NotFound, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Delete a function with its versions" })),
    HttpApiEndpoint.get("versions", "/:name/versions", {
      params,
      success: Schema.Array(FunctionVersion),
      error: [NotFound, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "List the versions of a function, newest first" })),
    HttpApiEndpoint.get("files", "/:name/versions/:version/files", {
      params: { ...params, version: Schema.Int },
      success: SourceFiles,
      error: [NotFound, NotImplemented, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Show the files of a version" })),
    HttpApiEndpoint.post("select", "/:name/versions/:version/select", {
      params: { ...params, version: Schema.Int },
      success: FunctionRecord,
      error: [NotFound, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Have another version called, such as the one before" })),
    HttpApiEndpoint.post("call", "/:name/call", {
      params,
      payload: FunctionTrial,
      success: FunctionTrialResult,
      error: [InvalidRequest, NotFound, NotImplemented, BadGateway, Unavailable, GatewayTimeout, PayloadTooLarge]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Call a function to try it, as any caller",
        description:
          "`as`: the role, and for users `sub` and further claims, that the function gets as verified. The response, of at most 1 MiB, is in the answer with its status and headers."
      })
    ),
    HttpApiEndpoint.get("logs", "/:name/logs", {
      params,
      query: {
        limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 }))),
        after: Schema.optionalKey(LogId),
        before: Schema.optionalKey(LogId),
        follow: Schema.optionalKey(Schema.Literals(["true", "false"]))
      },
      success: [
        Schema.Array(FunctionLogLine),
        Schema.String.pipe(HttpApiSchema.asText({ contentType: "application/x-ndjson" }))
      ],
      error: Unavailable
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List what a function has printed, newest first",
        description:
          "`limit` defaults to 100. `after`: the lines that follow an id, oldest first, to go on reading. `before`: the page of older ones. `follow=true`: the newest, or those after an id, oldest first, and then each line that is printed, one JSON object a line; an empty line every 5 s without one."
      })
    )
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/functions")
  .annotateMerge(OpenApi.annotations({ title: "Functions", description: "Code in the service, run by Deno" })) {}
