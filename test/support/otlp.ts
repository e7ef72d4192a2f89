import { BinaryReader, WireType } from "@bufbuild/protobuf/wire"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"

/** A span as a collector reads it (opentelemetry.proto.trace.v1). Ids are hexadecimal. */
export interface ExportedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly name: string
  readonly kind: number
  readonly attributes: Readonly<Record<string, string>>
}

type Fields = Map<number, Array<Uint8Array | string>>

/** The fields of a message: those with a length as bytes, all others as text. */
const fieldsOf = (bytes: Uint8Array): Fields => {
  const reader = new BinaryReader(bytes)
  const fields: Fields = new Map()
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag()
    const value =
      type === WireType.LengthDelimited
        ? reader.bytes()
        : type === WireType.Varint
          ? reader.uint64().toString()
          : type === WireType.Bit64
            ? reader.fixed64().toString()
            : reader.fixed32().toString()
    fields.set(field, [...(fields.get(field) ?? []), value])
  }
  return fields
}

const messages = (fields: Fields, field: number) =>
  (fields.get(field) ?? []).map((value) => {
    if (typeof value === "string") throw new Error(`field ${field} is no message`)
    return fieldsOf(value)
  })
const bytesOf = (fields: Fields, field: number) => Buffer.from(fields.get(field)?.[0] ?? "")

const attributesOf = (span: Fields) =>
  Object.fromEntries(
    messages(span, 9).map((pair) => {
      const [value] = messages(pair, 2)
      const [first = ""] = [...(value?.values() ?? [])].flat()
      return [bytesOf(pair, 1).toString(), typeof first === "string" ? first : Buffer.from(first).toString()]
    })
  )

/** The spans of an ExportTraceServiceRequest in protobuf. */
const spansOf = (body: Uint8Array): ReadonlyArray<ExportedSpan> =>
  messages(fieldsOf(body), 1)
    .flatMap((resource) => messages(resource, 2))
    .flatMap((scope) => messages(scope, 2))
    .map((span) => ({
      traceId: bytesOf(span, 1).toString("hex"),
      spanId: bytesOf(span, 2).toString("hex"),
      parentSpanId: bytesOf(span, 4).toString("hex"),
      name: bytesOf(span, 5).toString(),
      kind: Number(span.get(6)?.[0] ?? 0),
      attributes: attributesOf(span)
    }))

/** A receiver of OTLP over HTTP with protobuf. */
export const startCollector = async () => {
  const spans: Array<ExportedSpan> = []
  const bodies: Array<Buffer> = []
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.once("end", () => {
      const body = Buffer.concat(chunks)
      bodies.push(body)
      if (request.headers["content-type"] !== "application/x-protobuf") response.writeHead(415)
      else if (request.url === "/v1/traces") spans.push(...spansOf(body))
      response.end()
    })
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    /** Everything that was exported. */
    text: () => Buffer.concat(bodies).toString("latin1"),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    }
  }
}
