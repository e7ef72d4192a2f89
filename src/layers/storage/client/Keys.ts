import { uriEncodePath } from "../../../domain/text/UriText.ts"

/** A key as a list has it: percent-encoded where the store did as it was asked, with "+" for a space. */
export const decodedKey = (key: string | undefined, encoding: string | undefined): string => {
  if (key === undefined || encoding !== "url") return key ?? ""
  try {
    return decodeURIComponent(key.replaceAll("+", " "))
  } catch {
    return key
  }
}

/** Whether XML 1.0 brings a key over unchanged; what it can't is asked about one by one, in the URL. */
export const fitsXml = (key: string) => !/[\p{Cc}\u2028\ufffe\uffff]/u.test(key)

/** `bucket/key` as it stands in a URL. */
export const encodedPath = (bucket: string, key: string) => `${bucket}/${uriEncodePath(key)}`
