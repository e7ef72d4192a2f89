/** The UUID that is made of a text, always the same one: for ids that are no UUIDs where clients expect them. */
export const uuidOf = (text: string) => `substr(encode(sha256(convert_to(${text}, 'UTF8')), 'hex'), 1, 32)::uuid`
