import { S3Client } from "@aws-sdk/client-s3"
import { SignatureV4 } from "@smithy/signature-v4"
import { ConfigProvider, Layer, ManagedRuntime, Redacted } from "effect"
import { createHash, createHmac, type Hmac, type Hash } from "node:crypto"
import { request as send } from "node:http"
import { DataDir } from "../../../src/layers/process/DataDir.ts"
import { ObjectStoreAddress } from "../../../src/layers/storage/Address.ts"
import { layerEmbeddedS3 } from "../../../src/layers/storage/Embedded.ts"
import { makeDataDir, removeDataDir } from "../dataDir.ts"

/** An S3 endpoint in this process, on a free port and an empty directory. */
export const startS3 = async (env: Readonly<Record<string, string>> = {}) => {
  const path = await makeDataDir()
  const settings = ConfigProvider.layer(ConfigProvider.fromEnvRecord({ S3_EMBEDDED_PORT: "0", ...env }))
  const runtime = ManagedRuntime.make(layerEmbeddedS3.pipe(Layer.provide(DataDir.at(path)), Layer.provide(settings)))
  const { accessKey, endpoint, secretKey } = await runtime.runPromise(ObjectStoreAddress)
  const credentials = { accessKeyId: accessKey, secretAccessKey: Redacted.value(secretKey) }
  const client = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials, maxAttempts: 1 })
  return {
    path,
    endpoint,
    credentials,
    client,
    stop: async () => {
      client.destroy()
      await runtime.dispose()
      await removeDataDir(path)
    }
  }
}

export type S3 = Awaited<ReturnType<typeof startS3>>

/** The hash in the form that the signer expects. */
class Sha256 {
  private readonly hash: Hash | Hmac
  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.hash = secret === undefined ? createHash("sha256") : createHmac("sha256", secret as Uint8Array)
  }
  update(data: Uint8Array) {
    this.hash.update(data)
  }
  async digest() {
    return new Uint8Array(this.hash.digest())
  }
  reset() {
    throw new Error("Not implemented")
  }
}

export interface S3Call {
  readonly method?: string
  /** Percent-encoded. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Milliseconds to add to the time of signing. */
  readonly skew?: number
  readonly secret?: string
  readonly region?: string
  /** x-amz-content-sha256, default that of the body. */
  readonly payload?: string
}

const signerOf = ({ credentials }: S3, { region = "us-east-1", secret = credentials.secretAccessKey }: S3Call) =>
  new SignatureV4({
    service: "s3",
    region,
    credentials: { ...credentials, secretAccessKey: secret },
    sha256: Sha256,
    uriEscapePath: false,
    applyChecksum: false
  })

const requestOf = (s3: S3, { headers = {}, method = "GET", path, query = {} }: S3Call) => {
  const { host, hostname, port, protocol } = new URL(s3.endpoint)
  return { method, protocol, hostname, port: Number(port), path, query, headers: { host, ...headers } }
}

/** The headers of a call, signed by AWS's signer. */
export const signed = async (s3: S3, call: S3Call): Promise<Readonly<Record<string, string>>> => {
  const payload =
    call.payload ??
    createHash("sha256")
      .update(call.body ?? "")
      .digest("hex")
  const request = requestOf(s3, { ...call, headers: { "x-amz-content-sha256": payload, ...call.headers } })
  const signingDate = new Date(Date.now() + (call.skew ?? 0))
  return (await signerOf(s3, call).sign(request, { signingDate })).headers
}

/** A presigned URL of a call, as path and query. */
export const presigned = async (s3: S3, call: S3Call, expiresIn = 60): Promise<string> => {
  const signableHeaders = new Set(Object.keys(call.headers ?? {}))
  const signingDate = new Date(Date.now() + (call.skew ?? 0))
  const unsigned = { ...call, headers: { "x-amz-content-sha256": "UNSIGNED-PAYLOAD", ...call.headers } }
  const { query } = await signerOf(s3, call).presign(requestOf(s3, unsigned), {
    expiresIn,
    signingDate,
    signableHeaders: new Set(["host", ...signableHeaders]),
    unhoistableHeaders: signableHeaders
  })
  const pairs = Object.entries(query ?? {}).map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`
  )
  return `${call.path}?${pairs.join("&")}`
}

export interface S3Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | Array<string> | undefined>>
  readonly text: string
  /** The code of an error. */
  readonly code: string | undefined
}

/** Sends a request without signing it. */
export const raw = (
  { endpoint }: S3,
  method: string,
  target: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string | Uint8Array
): Promise<S3Answer> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(endpoint)
    const length: Record<string, string> =
      body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }
    send({ host: hostname, port, method, path: target, headers: { ...length, ...headers } }, (response) => {
      let text = ""
      response
        .setEncoding("utf8")
        .on("data", (chunk: string) => (text += chunk))
        .on("error", reject)
        .on("end", () => {
          const code = /<Error>.*<Code>(\w+)<\/Code>/s.exec(text)?.[1]
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, code })
        })
    })
      .on("error", reject)
      .end(body)
  })

/** Signs and sends a request. */
export const call = async (s3: S3, given: S3Call): Promise<S3Answer> => {
  const pairs = Object.entries(given.query ?? {}).map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`
  )
  const target = pairs.length === 0 ? given.path : `${given.path}?${pairs.join("&")}`
  return raw(s3, given.method ?? "GET", target, await signed(s3, given), given.body)
}

export const md5 = (bytes: string | Uint8Array) => createHash("md5").update(bytes).digest("hex")

/** The status and code of the failure of the SDK's promise, or `accepted`. */
export const refused = (promise: Promise<unknown>) =>
  promise.then(
    () => "accepted",
    (error: { readonly name: string; readonly $metadata?: { readonly httpStatusCode?: number } }) =>
      `${error.$metadata?.httpStatusCode} ${error.name}`
  )
