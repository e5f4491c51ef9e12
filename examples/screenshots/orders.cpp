// Orders of a shop as JSON: parse, add up, write. With -DCOPY it copies each order, as a forgotten & does.
#include <iostream>
#include <map>
#include <string>
#include <nlohmann/json.hpp>

using nlohmann::json;
#ifdef COPY
using Each = json;
#else
using Each = const json&;
#endif

json orders(int count) {
    json all = json::array();
    for (int number = 0; number < count; ++number) {
        json order = {{"id", number}, {"customer", "customer " + std::to_string(number % 500)}, {"items", json::array()}};
        for (int item = 0; item < 4; ++item)
            order["items"].push_back({{"name", "item " + std::to_string(number * item % 97)}, {"price", 1.25 * item}, {"tags", {"new", "sale"}}});
        all.push_back(order);
    }
    return all;
}

std::map<std::string, double> revenue(const json& orders) {
    std::map<std::string, double> sums;
    for (Each order : orders) {
        double sum = 0;
        for (Each item : order["items"]) sum += item["price"].get<double>();
        sums[order["customer"].get<std::string>()] += sum;
    }
    return sums;
}

int main() {
    const std::string text = orders(20'000).dump();
    for (int round = 0; round < 25; ++round) {
        const json parsed = json::parse(text);
        const json summary = revenue(parsed);
        std::cout << summary.dump().size() << "\n";
    }
}
