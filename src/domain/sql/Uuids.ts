/** The UUID that a text makes, always the same one. */
export const uuidOf = (text: string) => `substr(encode(sha256(convert_to(${text}, 'UTF8')), 'hex'), 1, 32)::uuid`
