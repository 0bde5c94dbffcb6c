export declare const reduceToLines: (text: string, isOwn: (path: string) => boolean) => string
