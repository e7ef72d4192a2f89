export const percentEncode = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`

/** Everything but RFC 3986's unreserved characters, `A-Z a-z 0-9 - _ . ~`, as `%XX` of its UTF-8 bytes. */
export const uriEncode = (text: string) => encodeURIComponent(text).replaceAll(/[!'()*]/g, percentEncode)

/** Encodes a path, in which slashes stay. */
export const uriEncodePath = (path: string) => uriEncode(path).replaceAll("%2F", "/")
