export declare const putInPlace: (draft: string, folder: string) => void
