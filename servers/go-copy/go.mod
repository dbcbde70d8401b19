module go-copy

go 1.19
