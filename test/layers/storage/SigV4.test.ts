import { assert, describe, it } from "vitest"
import { ChunkDecoder } from "../../../src/layers/storage/endpoint/signature/Chunks.ts"
import {
  type Canonical,
  canonicalRequest,
  emptyHash,
  hmac,
  parseTimestamp,
  sameSignature,
  scopeOf,
  signingKey,
  stringToSign
} from "../../../src/layers/storage/endpoint/signature/Signing.ts"
import { uriEncode } from "../../../src/domain/text/UriText.ts"

// The examples of the S3 API reference: "Signature calculations for the Authorization header" and related pages.
const secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
const credential = { accessKey: "AKIAIOSFODNN7EXAMPLE", day: "20130524", region: "us-east-1" }
const timestamp = "20130524T000000Z"
const key = signingKey(secret, credential)
const scope = scopeOf(credential)

const sign = (canonical: Canonical) =>
  hmac(key, stringToSign(timestamp, scope, canonicalRequest(canonical))).digest("hex")

const request = (
  headers: Readonly<Record<string, string>>,
  rest: Partial<Canonical> & Pick<Canonical, "path">
): Canonical => ({
  method: "GET",
  query: [],
  payloadHash: emptyHash,
  headers: Object.entries({
    host: "examplebucket.s3.amazonaws.com",
    "x-amz-content-sha256": rest.payloadHash ?? emptyHash,
    "x-amz-date": timestamp,
    ...headers
  })
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => [name, [value]]),
  ...rest
})

describe("AWS's published signatures", () => {
  it.each<[string, Canonical, string]>([
    [
      "GET object with a range",
      request({ range: "bytes=0-9" }, { path: "/test.txt" }),
      "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
    ],
    [
      "PUT object",
      request(
        { date: "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY" },
        {
          method: "PUT",
          path: "/test$file.text",
          payloadHash: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
        }
      ),
      "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
    ],
    [
      "GET bucket lifecycle",
      request({}, { path: "/", query: [["lifecycle", ""]] }),
      "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
    ],
    [
      "list objects",
      request(
        {},
        {
          path: "/",
          query: [
            ["prefix", "J"],
            ["max-keys", "2"]
          ]
        }
      ),
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
    ],
    [
      "presigned GET",
      {
        method: "GET",
        path: "/test.txt",
        query: [
          ["X-Amz-Algorithm", "AWS4-HMAC-SHA256"],
          ["X-Amz-Credential", `${credential.accessKey}/${scope}`],
          ["X-Amz-Date", timestamp],
          ["X-Amz-Expires", "86400"],
          ["X-Amz-SignedHeaders", "host"]
        ],
        headers: [["host", ["examplebucket.s3.amazonaws.com"]]],
        payloadHash: "UNSIGNED-PAYLOAD"
      },
      "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    ]
  ])("%s", (_, canonical, signature) => {
    assert.strictEqual(sign(canonical), signature)
  })
})

const streamed = (extra: Readonly<Record<string, string>>, payloadHash: string) =>
  sign({
    method: "PUT",
    path: "/examplebucket/chunkObject.txt",
    query: [],
    payloadHash,
    headers: Object.entries({
      "content-encoding": "aws-chunked",
      host: "s3.amazonaws.com",
      "x-amz-content-sha256": payloadHash,
      "x-amz-date": timestamp,
      "x-amz-decoded-content-length": "66560",
      "x-amz-storage-class": "REDUCED_REDUNDANCY",
      ...extra
    })
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => [name, [value]])
  })

const plain = streamed({ "content-length": "66824" }, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD")
const trailing = streamed({ "x-amz-trailer": "x-amz-checksum-crc32c" }, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER")

const chunk = (size: number, signature: string) =>
  `${size.toString(16)};chunk-signature=${signature}\r\n${"a".repeat(size)}${size === 0 ? "" : "\r\n"}`

const plainBody = [
  chunk(65_536, "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"),
  chunk(1024, "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497"),
  chunk(0, "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"),
  "\r\n"
].join("")

const trailer = "x-amz-checksum-crc32c:sOO8/Q==\r\n"
const trailerSignature = "x-amz-trailer-signature:d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n"
const trailingBody = [
  chunk(65_536, "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2"),
  chunk(1024, "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7"),
  chunk(0, "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992"),
  trailer,
  trailerSignature,
  "\r\n"
].join("")

const decode = (body: string, seed: string | undefined, signedTrailer: boolean, piece = body.length) => {
  const decoder = new ChunkDecoder(
    seed === undefined
      ? undefined
      : { by: "header", version: "AWS4-HMAC-SHA256", signature: seed, timestamp, scope, key, age: 0 }
  )
  const data: Array<Buffer> = []
  const bytes = Buffer.from(body, "latin1")
  for (let at = 0; at < bytes.length; at += piece) data.push(...decoder.write(bytes.subarray(at, at + piece)))
  const trailers = decoder.finish(signedTrailer)
  return { text: Buffer.concat(data).toString("latin1"), trailers }
}

const codeOf = (run: () => unknown) => {
  try {
    run()
  } catch (cause) {
    return (cause as { readonly code?: string }).code
  }
  return "accepted"
}

describe("aws-chunked", () => {
  it("decodes AWS's example in chunks of any size", () => {
    assert.strictEqual(plain, "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9")
    for (const piece of [1, 7, 85, 65_621, 1_000_000]) {
      assert.strictEqual(decode(plainBody, plain, false, piece).text, "a".repeat(66_560))
    }
  })

  it("decodes AWS's example with a signed trailer", () => {
    assert.strictEqual(trailing, "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e")
    for (const piece of [1, 100, 1_000_000]) {
      const { text, trailers } = decode(trailingBody, trailing, true, piece)
      assert.strictEqual(text.length, 66_560)
      assert.deepStrictEqual([...trailers], [["x-amz-checksum-crc32c", "sOO8/Q=="]])
    }
  })

  it("rejects data changed in transit", () => {
    const altered =
      (from: string, to: string, body = trailingBody) =>
      () =>
        decode(body.replace(from, to), trailing, true)
    assert.strictEqual(codeOf(altered("\r\naaa", "\r\nbaa")), "SignatureDoesNotMatch")
    assert.strictEqual(codeOf(altered("sOO8/Q==", "sOO8/R==")), "SignatureDoesNotMatch")
    assert.strictEqual(codeOf(altered(trailerSignature, "")), "SignatureDoesNotMatch")
    assert.strictEqual(codeOf(altered(";chunk-signature=b474", ";chunk-signature=c474")), "SignatureDoesNotMatch")
    assert.strictEqual(codeOf(altered(";chunk-signature=", ";x=")), "InvalidRequest")
    // The chunks in the wrong order.
    const [first = "", second = "", ...rest] = plainBody.split(/(?<=a\r\n)/)
    assert.strictEqual(
      codeOf(() => decode([second, first, ...rest].join(""), plain, false)),
      "SignatureDoesNotMatch"
    )
  })

  it("rejects truncated and malformed data", () => {
    for (const length of [0, 3, 90, 66_000, plainBody.length - 100]) {
      assert.strictEqual(
        codeOf(() => decode(plainBody.slice(0, length), plain, false)),
        "IncompleteBody"
      )
    }
    for (const body of ["zz\r\n", "5 \r\nhello", "5\r\nhelloXX", "-1\r\n", "5\nhello\r\n", "a".repeat(5000)]) {
      assert.strictEqual(
        codeOf(() => decode(body, undefined, false)),
        "InvalidRequest"
      )
    }
    assert.strictEqual(
      codeOf(() => decode(`0\r\n${"x:y\r\n".repeat(5000)}`, undefined, false)),
      "InvalidRequest"
    )
  })

  it("decodes unsigned chunks", () => {
    assert.deepStrictEqual(decode("5\r\nhello\r\n3\r\n wo\r\n0\r\nA:b\r\n\r\n", undefined, false, 2), {
      text: "hello wo",
      trailers: new Map([["a", "b"]])
    })
  })
})

describe("the parts of a signature", () => {
  it("encodes as S3 does", () => {
    assert.strictEqual(uriEncode("a b+c/é!'()*~😀"), "a%20b%2Bc%2F%C3%A9%21%27%28%29%2A~%F0%9F%98%80")
  })
  it("parses timestamps of one form only", () => {
    assert.strictEqual(parseTimestamp(timestamp), Date.UTC(2013, 4, 24))
    for (const text of ["", "2013-05-24T00:00:00Z", "20131324T000000Z", "20130524T000000", "20130524t000000z"]) {
      assert.isUndefined(parseTimestamp(text))
    }
  })
  it("compares whole signatures", () => {
    assert.isTrue(sameSignature("ab", "ab"))
    for (const other of ["", "a", "abc", "aB"]) assert.isFalse(sameSignature("ab", other))
  })
})
